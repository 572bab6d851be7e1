"""Golden programs: whole texts that rendering must give, character by character.

After a change on purpose, rewrite them with `pytest tests/unit/script --update-golden` and read
the difference before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("golden")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites the golden programs."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden programs")


@pytest.fixture
def same_as_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden", default=False):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check
