"""Every variable of the environment that the code reads is on its page."""

from __future__ import annotations

import re

from tools.docs.pages import DOCS, ROOT

VARIABLE = re.compile(r"\bAUTOTUNE_[A-Z]+(?:_[A-Z]+)*\b")
INTERNAL = {"AUTOTUNE_ATTEMPT", "AUTOTUNE_FAIL_AT", "AUTOTUNE_FAIL_FLAG"}
"""Of processes that the service starts, and of its tests."""


def named(text: str) -> set[str]:
    """Return the variables that a text names; those of the service are its settings."""
    return {each for each in VARIABLE.findall(text) if not each.startswith("AUTOTUNE_SERVICE_")}


def test_every_variable_is_on_the_page_and_no_other() -> None:
    files = [path for name in ("autotune", "api") for path in (ROOT / name).rglob("*.py")]
    read = {name for path in files for name in named(path.read_text("utf-8"))}
    assert read - INTERNAL <= named((DOCS / "environment.md").read_text("utf-8")) <= read
    assert read >= INTERNAL
