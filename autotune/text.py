"""Texts as people write and read them: numbers with units, lengths of time, names that resemble."""

import json
import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from autotune.errors import UsageError

_NAME = re.compile(r"\w+[._]\w")
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that steer a terminal, that nobody sees, or that change the order in which others are
read; line breaks and tabs apart."""
_PROGRAMS = frozenset({"script", "launch", "patch", "workload", "facts"})
"""Members of a document that stay byte for byte: programs, and what they are made of."""


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: `1 trial`, `2,000 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def rate(value: float) -> str:
    """Return examples per second: `12,345`, or `3.21` where there are few."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


_LENGTHS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def clock(seconds: float) -> str:
    """Return a length of time as a clock shows it: `1:05`, `1:02:03`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def roughly(seconds: float) -> str:
    """Return a length of time in two units at most: `40 s`, `2 min 30 s`, `1 h 5 min`."""
    rest, parts = max(round(seconds), 0), []
    for unit, length in _LENGTHS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def very_roughly(seconds: float) -> str:
    """Return a length of time in its largest unit, rounded: `40 s`, `3 min`, `2 h`."""
    unit, length = next((each for each in _LENGTHS if seconds >= each[1]), _LENGTHS[-1])
    return f"{round(seconds / length)} {unit}"


def size(count: float) -> str:
    """Return bytes with a unit: `264 B`, `1.2 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GiB"


def sentence(text: str) -> str:
    """Return a text in one line, with a capital at its start and a stop at its end.

    A name of code at the start, such as `tf.data`, stays as it is.
    """
    line = one_line(text)
    first = line[:1] if _NAME.match(line) else line[:1].upper()
    return first + line[1:] + ("" if line.endswith((".", "!", "?")) else ".")


def one_line(text: str) -> str:
    """Return a text without line breaks, for a table or a log."""
    return " ".join(text.split())


_FORMAT = "Use a format such as 90s, 3min or 1h30min."
_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}


def parse_seconds(text: str | float) -> float:
    """Return the seconds of a length of time such as `90s`, `3min`, `1h30min` or `120`."""
    if isinstance(text, int | float):
        seconds = float(text)
    else:
        parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", text.strip().lower())
        each = [(float(number), unit.removesuffix("s") or "s") for number, unit in parts]
        whole = "".join(map("".join, parts)) == re.sub(r"\s", "", text.lower())
        if not parts or not whole or not all(unit in _UNITS for _, unit in each):
            raise UsageError(f"{text!r} is not a valid duration.", _FORMAT)
        seconds = sum(number * _UNITS[unit] for number, unit in each)
    if not 0 < seconds < float("inf"):
        raise UsageError(f"A length of time must be positive, not {text}.", _FORMAT)
    return seconds


def at_least(seconds: float) -> str:
    """Return a round budget of no less than some seconds."""
    unit = 10 if seconds < 120 else 60
    return as_text(math.ceil(seconds / unit) * unit)


def as_text(seconds: float) -> str:
    """Return seconds as `parse_seconds` reads them: `90s`, `3min`, `1h30min`."""
    minutes, rest = divmod(seconds, 60)
    if rest or minutes < 2:
        return f"{seconds:g}s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}h" * bool(hours) + f"{minutes}min" * bool(minutes)


def hint(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests known names, or lists them if none resembles the name."""
    known = [*known]
    close = get_close_matches(name, known)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"Available: {', '.join(known) or 'none'}."


def is_line(text: str) -> bool:
    """Return whether a text is a line of printable characters, without a tab."""
    return STEERING.search(text) is None and "\n" not in text and "\t" not in text


def printable(text: str) -> str:
    """Return a text with a mark in the place of each character that steers a terminal."""
    return STEERING.sub("\ufffd", text)


def cleaned(document: str | bytes) -> str:
    """Return a JSON document of somebody else's whose texts are printable, but for programs."""
    return json.dumps(_cleaned(json.loads(document)))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        found = value.items()
        return {name: each if name in _PROGRAMS else _cleaned(each) for name, each in found}
    return value
