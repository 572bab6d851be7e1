"""The engine of the page on extensions keeps the contract that the page names."""

from typing import Any

from tools.docs.blocks import programs
from tools.docs.pages import DOCS

_namespace: dict[str, Any] = {"__name__": "engine_page"}
for _block in programs(DOCS / "extend.md"):
    if "LoggedEngine" in _block:
        exec(_block, _namespace)  # noqa: S102 - the page's own code

TestLoggedEngine = _namespace["TestLoggedEngine"]
