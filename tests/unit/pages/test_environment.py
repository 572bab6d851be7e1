"""Every variable of the environment that the code reads is on its page."""

from __future__ import annotations

import re

from tools.docs.pages import DOCS, ROOT

VARIABLE = re.compile(r"\bAUTOTUNE_[A-Z]+(?:_[A-Z]+)*\b")
PAGE = (DOCS / "environment.md").read_text("utf-8")
INTERNAL = {"AUTOTUNE_ATTEMPT", "AUTOTUNE_FAIL_AT", "AUTOTUNE_FAIL_FLAG"}
"""Of processes that the service starts, and of its tests."""
SETTING = "AUTOTUNE_SERVICE_"


def read() -> set[str]:
    """Return the variables that the packages name, settings of the service as one."""
    files = [path for name in ("autotune", "api") for path in (ROOT / name).rglob("*.py")]
    return {name for path in files for name in VARIABLE.findall(path.read_text("utf-8"))}


def test_every_variable_is_on_the_page() -> None:
    wanted = {each for each in read() - INTERNAL if not each.startswith(SETTING)}
    assert wanted <= {*VARIABLE.findall(PAGE)}


def test_no_other_is() -> None:
    """One that the code no longer reads leaves the page; those of the service are its settings."""
    named = {each for each in VARIABLE.findall(PAGE) if not each.startswith(SETTING)}
    assert named <= read()


def test_internal_ones_are_read() -> None:
    assert read() >= INTERNAL
