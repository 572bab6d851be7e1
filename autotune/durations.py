"""Lengths of time as people write them."""

from __future__ import annotations

import math
import re

from autotune.errors import UsageError

_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}


def parse_seconds(text: str | float) -> float:
    """Return the seconds of a length of time such as `90s`, `3min`, `1h30min` or `120`.

    Raises:
        UsageError: It is no length of time, or none at all.
    """
    if isinstance(text, int | float):
        seconds = float(text)
    else:
        parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip().lower())
        units = [unit.removesuffix("s") or "s" for _, unit in parts]
        whole = "".join(f"{number}{unit}" for number, unit in parts)
        known = all(unit in _UNITS for unit in units)
        if not parts or not known or whole != re.sub(r"\s", "", text.lower()):
            raise UsageError(
                f"{text!r} is not a valid duration.", "Use a format such as 90s, 3min or 1h30min."
            )
        seconds = sum(
            float(number) * _UNITS[unit] for (number, _), unit in zip(parts, units, strict=True)
        )
    if not 0 < seconds < float("inf"):
        raise UsageError(
            f"The budget must be positive, not {text}.",
            "Use a format such as 90s, 3min or 1h30min.",
        )
    return seconds


def at_least(seconds: float) -> str:
    """Return a budget of no less than some seconds, in a round number of seconds or minutes."""
    unit = 10 if seconds < 120 else 60
    return as_text(math.ceil(seconds / unit) * unit)


def as_text(seconds: float) -> str:
    """Return seconds as `parse_seconds` reads them: `90s`, `3min`, `1h30min`."""
    minutes, rest = divmod(seconds, 60)
    if rest or minutes < 2:
        return f"{seconds:g}s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}h" * bool(hours) + f"{minutes}min" * bool(minutes)
