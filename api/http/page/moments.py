"""Times as pages show them."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.api.values import moment


@dataclass(frozen=True)
class Moment:
    """A time, for programs and for people; the script shows it by the reader's own clock."""

    iso: str
    text: str


def moment_of(seconds: float) -> Moment:
    """Return a time of the database as a page shows it."""
    at = moment(seconds)
    return Moment(at.isoformat(timespec="seconds"), f"{at:%Y-%m-%d %H:%M} UTC")
