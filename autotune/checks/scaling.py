"""Predicts the step of more hosts than were measured.

Where each of n hosts computes as long as one alone, a step takes that and x(n) for the exchange of
the gradients. A ring passes 2 (n - 1) / n of them along each link, in steps that wait for one
another, so x(n) = a (n - 1) + b (n - 1) / n: a for a neighbour more, whatever the bytes, b for
twice the gradients over the bandwidth. If all were bytes, x would follow the ring through the
fewest hosts measured; if all were latency, the straight line through the two largest numbers of
them. What lies between is held possible, widened by the noise of the measurements. None of it was
measured, so no configuration wins by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from autotune.checks.diagnosis import Predicted
from autotune.stats import Interval, Noise
from autotune.stats.intervals import around, t_quantile

MORE_HOSTS = (4, 8, 16, 32, 64)
"""For which a search predicts; farther than that nothing follows from a few."""
DRAWS = 2000
NORMAL = 1.96
"""Standard errors to either end of a 95 % interval."""
PAYLOAD = 0.956
"""Share of a link's rate that is left for gradients; headers of Ethernet, IP, TCP take the rest."""

Steps = Mapping[int, Interval]
"""Seconds of a step on so many hosts, each with the same batch."""


def of_runs(seconds: Sequence[float], noise: Noise) -> Interval:
    """Return what a step takes by some runs, with the noise between such."""
    half = t_quantile(noise.degrees, 0.975) * noise.sd / math.sqrt(len(seconds))
    return around(fmean(map(math.log, seconds)), half)


def predict(
    steps: Steps, hosts: Sequence[int], *, gradient_bytes: int = 0, bandwidth: float | None = None
) -> list[Predicted]:
    """Return what a step would take on more hosts, from those measured: on one, and on several.

    The bytes of gradients are what a host gives to be added up in a step, 0 if that is unknown. The
    bandwidth, in bytes a second that a host can send, tells bytes from latency, which two hosts
    alone do not, and three not certainly.
    """
    several = sorted(number for number in steps if number > 1)
    if 1 not in steps or not several:
        return []
    draws = _draws(steps)
    added = {number: np.maximum(draws[number] - draws[1], 0.0) for number in several}
    moved = 2 * gradient_bytes / (bandwidth * PAYLOAD) if bandwidth else 0.0
    latency, size = _ring(added, moved)
    found = []
    for number in hosts:
        ring = latency * (number - 1) + size * _share(number)
        seconds = _between(
            *(draws[1] + x for x in (_low(added, number), ring, _high(added, number)))
        )
        speedup = seconds.under(number * steps[1].value)
        found.append(Predicted(hosts=number, seconds=seconds, speedup=speedup))
    return found


def _draws(steps: Steps) -> Mapping[int, np.ndarray]:
    """Return what the steps may truly take."""
    random = np.random.default_rng(0)
    return {
        number: step.value * np.exp(random.standard_normal(DRAWS) * _deviation(step))
        for number, step in sorted(steps.items())
    }


def _deviation(step: Interval) -> float:
    return math.log(step.high / step.low) / (2 * NORMAL)


def _share(hosts: int) -> float:
    return (hosts - 1) / hosts


def _ring(added: Mapping[int, np.ndarray], moved: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a and b, neither negative, from what the exchange adds on each number of hosts.

    By the link's bandwidth, b should be what is moved; 0 if that is unknown.
    """
    (first, least), (last, most) = min(added.items()), max(added.items())
    if first == last:
        size = np.minimum(moved or np.inf, least / _share(first))
        return (least - size * _share(first)) / (first - 1), size
    if moved:
        size = np.full(DRAWS, moved)
    else:
        size = (least * (last - 1) - most * (first - 1)) / (
            _share(first) * (last - 1) - _share(last) * (first - 1)
        )
    # What comes nearest to both where that takes more than all there is.
    size = np.clip(size, 0.0, np.sqrt(least / _share(first) * most / _share(last)))
    left = [(x - size * _share(n)) / (n - 1) for n, x in ((first, least), (last, most))]
    return np.maximum((left[0] + left[1]) / 2, 0.0), size


def _low(added: Mapping[int, np.ndarray], hosts: int) -> np.ndarray:
    """Return what the exchange adds if it is all bytes."""
    first, least = min(added.items())
    return least * _share(hosts) / _share(first)


def _high(added: Mapping[int, np.ndarray], hosts: int) -> np.ndarray:
    """Return what the exchange adds if every host more costs as much as the last."""
    (last, most), *before = sorted(added.items(), reverse=True)
    number, less = before[0] if before else (1, np.zeros(DRAWS))
    each = np.maximum(most - less, 0.0) / (last - number)
    line: np.ndarray = most + (hosts - last) * each
    return line


def _between(low: np.ndarray, middle: np.ndarray, high: np.ndarray) -> Interval:
    """Return the middle of what is likeliest, between the ends of all that is possible."""
    ends = [np.quantile(np.minimum(low, high), 0.025), np.quantile(np.maximum(low, high), 0.975)]
    return Interval(low=ends[0], value=np.clip(np.median(middle), *ends), high=ends[1])
