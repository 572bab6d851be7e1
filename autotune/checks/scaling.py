"""What more replicas would bring: where distribution pays, more hosts, and no straggler.

**Break-even**: the batch, or the network, from which distribution would pay. A step of b examples
takes one device a + c b seconds. P replicas take a + g c b + x for b examples each: x for the time
that the exchange of the gradients adds, g >= 1 for the time that they take from each other on
shared cores. They pay where that is less than the step of one device with all P b examples,
a + c P b: from the batch b = x / (c (P - g)) on. With larger batches more of the exchange may hide
behind the computing, so it may pay earlier. On machines of their own g is one, and x is a latency
and the bytes that a ring moves, 2 (P - 1) / P times the gradients (Patarasuk and Yuan, 2009), over
the bandwidth. The latency is taken to be the exchange that was measured here.

**More hosts** than were measured: where each of n hosts computes as long as one alone, a step takes
that and x(n) = a (n - 1) + b (n - 1) / n for a ring's exchange: a for each neighbour, whatever the
bytes, b for twice the gradients over the bandwidth. If all were bytes, x would follow the ring
through the fewest hosts measured; if all were latency, the straight line through the two largest
numbers of them. All between these is held possible, widened by the noise of the measurements. None
of it was measured, so no configuration wins by it.

**Stragglers**: workers that train apart, each with a batch in memory, wait for nobody, so their
steps are their own. The time that the group's step takes beyond the longest of these is the
exchange. Without its slowest worker a group of n waits for the next one, and exchanges among n - 1:
a ring of fewer hosts passes fewer bytes and has fewer neighbours, and at worst takes as long.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from autotune.base import Value
from autotune.checks.breakdown import Breakdown, Experiment, Seconds
from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise, t_quantile

BEYOND = 1e12
"""Stands for infinity, which JSON has not."""
DRAWS = 2000
FARTHEST = 8
"""A batch so many times as large as the measured one is the farthest that is reported."""
NEEDED = (Experiment.HELD, Experiment.APART, Experiment.ALONE, Experiment.HALF)
MORE_HOSTS = (4, 8, 16, 32, 64)
"""For which a search predicts; farther than that nothing follows from a few."""
NORMAL = 1.96
"""Standard errors to either end of a 95 % interval."""
PAYLOAD = 0.956
"""Share of a link's rate that is left for gradients; headers of Ethernet, IP, TCP take the rest."""

UNEQUAL = 1.25
"""A worker that takes so many times as long as the others is a straggler."""

Draws = Mapping[Experiment, np.ndarray]
Steps = Mapping[int, Interval]
"""Seconds of a step on so many hosts, each with the same batch."""


class BreakEven(Value):
    """Where distribution begins to pay, as far as one can tell from the measured steps."""

    configuration: Configuration
    batch: Interval | None = None
    """Examples of a replica from which it pays on this machine; None: not within `farthest`."""
    farthest: int
    """Largest batch of a replica of which the measured steps tell."""
    bandwidth: Interval | None = None
    """Bytes a second from which it pays between machines like this one, each with one worker; None
    where it was not measured, or no network would do."""


class Predicted(Value):
    """A step on more hosts than were measured."""

    hosts: int
    seconds: Interval
    speedup: Interval
    """Examples a second, as a multiple of what one host processes."""


class Straggler(Value):
    """A worker that takes longer for its step than the others do, so that they wait for it."""

    worker: int
    """Its index."""
    host: str = ""
    """Of the worker; empty where all have the same."""
    factor: float
    """What it takes for a step, as a multiple of the median of the others."""
    seconds: tuple[float, ...]
    """For each worker, of a step by itself."""
    without: Interval
    """Examples per second of the others alone, predicted as a multiple of those of all."""


class Diagnosis(Value):
    """Where the time goes, and where distribution would begin to pay."""

    one_device: Breakdown
    distributed: Breakdown | None = None
    """Of the best distributed configuration that ran, whether it can win or not."""
    break_even: BreakEven | None = None
    """None where the time did not suffice to find out."""
    predicted: tuple[Predicted, ...] = ()
    """Of the best distributed configuration on more hosts than there are, a worker on each."""
    straggler: Straggler | None = None
    """The worker of the best distributed configuration for which the others wait."""


def break_even(
    configuration: Configuration, seconds: Seconds, *, gradient_bytes: int, noise: Noise
) -> BreakEven | None:
    """Return where a distributed configuration would begin to pay; None if the timings do not tell.

    The bytes of gradients are those that a replica gives to be added up in a step; without them no
    bandwidth is returned. The intervals follow from the noise between runs.
    """
    if not {*NEEDED} <= seconds.keys():
        return None
    random = np.random.default_rng(0)
    draws = {
        each: seconds[each] * np.exp(random.standard_t(noise.degrees, DRAWS) * noise.sd)
        for each in NEEDED
    }
    farthest = configuration.per_replica_batch * FARTHEST
    added = np.maximum(draws[Experiment.HELD] - draws[Experiment.APART], 0.0)
    batch = _interval(np.maximum(_ratio(added, _saved(configuration, draws)), 1.0))
    return BreakEven(
        configuration=configuration,
        batch=batch if batch and batch.value <= farthest else None,
        farthest=farthest,
        bandwidth=_bandwidth(configuration, draws, added, gradient_bytes),
    )


def _per_example(configuration: Configuration, draws: Draws) -> np.ndarray:
    """Return c, which is not positive where a larger batch takes no longer."""
    batch = configuration.per_replica_batch
    return (draws[Experiment.ALONE] - draws[Experiment.HALF]) / (batch - batch // 2)


def _saved(configuration: Configuration, draws: Draws) -> np.ndarray:
    """Return c (P - g)."""
    batch, each = configuration.per_replica_batch, _per_example(configuration, draws)
    # What the replicas' own examples take beside each other, g c b.
    beside = draws[Experiment.APART] - (draws[Experiment.ALONE] - each * batch)
    crowding = np.maximum(beside / (each * batch), 1.0)
    saved: np.ndarray = each * (configuration.replicas - crowding)
    return saved


def _bandwidth(
    configuration: Configuration, draws: Draws, added: np.ndarray, size: int
) -> Interval | None:
    if not size or not configuration.replicas_per_worker == 1 < configuration.workers:
        return None
    replicas, each = configuration.replicas, _per_example(configuration, draws)
    spare = each * configuration.per_replica_batch * (replicas - 1) - added
    return _interval(_ratio(np.full(DRAWS, 2 * _share(replicas) * size), spare))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient of positive numbers; infinite where the lower one is not positive."""
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)


def _interval(draws: np.ndarray) -> Interval | None:
    low, value, high = np.quantile(draws, (0.025, 0.5, 0.975), method="nearest").tolist()
    if not math.isfinite(value):
        return None
    return Interval(low=low, value=value, high=min(high, BEYOND))


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
    draws = _possible_steps(steps)
    added = {number: np.maximum(draws[number] - draws[1], 0.0) for number in several}
    moved = 2 * gradient_bytes / (bandwidth * PAYLOAD) if bandwidth else 0.0
    latency, size = _ring(added, moved)
    found = []
    for number in hosts:
        ring = latency * (number - 1) + size * _share(number)
        low, high = (draws[1] + end(added, number) for end in (_low, _high))
        # The middle of what is likeliest, between the ends of all that is possible.
        least = np.quantile(np.minimum(low, high), 0.025)
        most = np.quantile(np.maximum(low, high), 0.975)
        value = np.clip(np.median(draws[1] + ring), least, most)
        seconds = Interval(low=least, value=value, high=most)
        speedup = seconds.under(number * steps[1].value)
        found.append(Predicted(hosts=number, seconds=seconds, speedup=speedup))
    return found


def _possible_steps(steps: Steps) -> Mapping[int, np.ndarray]:
    random = np.random.default_rng(0)
    found = {}
    for number, step in sorted(steps.items()):
        deviation = math.log(step.high / step.low) / (2 * NORMAL)
        found[number] = step.value * np.exp(random.standard_normal(DRAWS) * deviation)
    return found


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


def slow_worker(seconds: Sequence[float], together: float, noise: Noise) -> Straggler | None:
    """Return the worker whose own step takes significantly longer, and what its going would bring.

    The seconds are those of a step of each worker by itself, and of the group together.
    """
    if len(seconds) < 2:
        return None
    worker = max(range(len(seconds)), key=lambda each: seconds[each])
    factor = seconds[worker] / median(each for i, each in enumerate(seconds) if i != worker)
    half = math.sqrt(2) * noise.sd * t_quantile(noise.degrees, 0.975)
    if factor < UNEQUAL or math.log(factor) <= half:
        return None
    low, value, high = sorted(_without_slowest(seconds, together))
    spread = math.exp(half)
    without = Interval(low=low / spread, value=value, high=high * spread)
    return Straggler(worker=worker, factor=factor, seconds=tuple(seconds), without=without)


def _without_slowest(seconds: Sequence[float], together: float) -> list[float]:
    """Return the gain without the slowest, whatever the exchange consists of."""
    count, (*_, next_one, slowest) = len(seconds), sorted(seconds)
    exchange, left = max(together - slowest, 0.0), count - 1
    neighbours = (left - 1) / left
    unchanged = 1.0 if left > 1 else 0.0
    return [
        left / count * max(together, slowest) / (next_one + part * exchange)
        for part in (unchanged, neighbours * count / left, neighbours)
    ]
