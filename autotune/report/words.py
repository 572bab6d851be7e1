"""Configurations, rates and lengths of time, short enough for a column."""

from __future__ import annotations

import re

from autotune.config import Configuration
from autotune.measure import Interval
from autotune.strategies import strategy

_NAME = re.compile(r"\w+[._]\w")


def in_short(configuration: Configuration) -> str:
    """Return a configuration in a line: `Mirrored x2, batch 2x64, 8 steps/call`."""
    return f"{distribution(configuration)}, {configuration.in_short()}"


def distribution(configuration: Configuration) -> str:
    """Return how a configuration is distributed: `one device`, `Mirrored x2`."""
    name = strategy(configuration.strategy).title.removesuffix("Strategy")
    counts = [n for n in (configuration.workers, configuration.replicas_per_worker) if n > 1]
    return " ".join([name, *(f"x{count}" for count in counts)])


def rate(value: float) -> str:
    """Return examples per second: `12,345`, or `3.21` where there are few."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rate_with_error(interval: Interval) -> str:
    """Return a rate with its uncertainty: `12,345 ±4%`."""
    return f"{rate(interval.value)} ±{spread(interval):.0%}"


def spread(interval: Interval) -> float:
    """Return the longer half of an interval, as a share of the figure."""
    return max(interval.high / interval.value - 1, 1 - interval.low / interval.value)


def share(interval: Interval | None) -> str:
    """Return a ratio with its interval: `1.34 (1.21 to 1.48)`; `-` for an unknown one."""
    if interval is None:
        return "-"
    if interval.low == interval.high:
        return f"{interval.value:.2f}"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def clock(seconds: float) -> str:
    """Return a length of time as a clock shows it: `1:05`, `1:02:03`."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def roughly(seconds: float) -> str:
    """Return a length of time in two units at most: `40 s`, `2 min 30 s`, `1 h 5 min`."""
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    rest, parts = max(round(seconds), 0), []
    for unit, length in units:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def size(count: float) -> str:
    """Return bytes with a unit: `264 B`, `1.2 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GiB"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 trial`, `2 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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
