"""What a contestant held for the best, from its own measurements, at each time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from statistics import fmean

from autotune.config import Configuration
from benchmarks.peers.job import Entry

CLOSE = 0.95
"""Share of the best that counts as having found it."""
Incumbents = list[tuple[float, Configuration]]
"""Seconds since the start, and what was best from then on."""


def incumbents(log: Iterable[Entry]) -> Incumbents:
    """Return each change of the incumbent; a recommendation is the last word."""
    found: Incumbents = []
    for seconds, configuration in _best(log):
        if configuration is not None and (not found or found[-1][1] != configuration):
            found.append((seconds, configuration))
    return found


def close_since(held: Iterable[tuple[float, float | None]]) -> float | None:
    """Return from when on a share of the best was at least `CLOSE` for good; None: never.

    Args:
        held: Seconds, and the share of what was best from then on, if it is known.
    """
    since: float | None = None
    for seconds, share in held:
        if share is None or share < CLOSE:
            since = None
        elif since is None:
            since = seconds
    return since


def trials(log: Iterable[Entry]) -> int:
    """Return how many trials were run, those without a figure included."""
    return len({entry.number for entry in log if entry.what == "trial"})


def best_alone(log: Iterable[Entry]) -> Configuration | None:
    """Return the configuration on one device that the contestant measured as the fastest."""
    alone = [entry for entry in log if not entry.configuration.distributed]
    best = [found for _, found in _best(entry for entry in alone if entry.what == "trial")]
    return best[-1] if best else None


def _best(log: Iterable[Entry]) -> Iterator[tuple[float, Configuration | None]]:
    rates: dict[int, tuple[Configuration, float]] = {}
    for entry in log:
        if entry.what == "recommendation":
            yield entry.seconds, entry.configuration
        elif entry.rate is not None:
            rates[entry.number] = (entry.configuration, entry.rate)
            yield entry.seconds, _fastest(rates.values())


def _fastest(rates: Iterable[tuple[Configuration, float]]) -> Configuration:
    """Return the configuration with the largest mean over its trials."""
    logs: dict[Configuration, list[float]] = defaultdict(list)
    for configuration, rate in rates:
        logs[configuration].append(math.log(rate))
    return max(logs, key=lambda each: fmean(logs[each]))
