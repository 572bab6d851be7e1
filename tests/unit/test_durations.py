"""Lengths of time as people write them."""

from __future__ import annotations

import pytest

from autotune.durations import parse_seconds
from autotune.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("3min", 180),
        ("3 min", 180),
        ("1h30min", 5400),
        ("2 hours", 7200),
        ("1.5m", 90),
        ("45", 45),
        (12.5, 12.5),
    ],
)
def test_usual_ways_of_writing(text: str | float, seconds: float) -> None:
    """Seconds, minutes and hours, alone or together, with or without blanks."""
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "soon", "3 weeks", "-5s", "0", "3min!", "inf", "\u0663min", 0.0]
)
def test_anything_else_is_an_error(text: str | float) -> None:
    """The message shows how to write it."""
    with pytest.raises(UsageError, match="Use a format such as 90s"):
        parse_seconds(text)
