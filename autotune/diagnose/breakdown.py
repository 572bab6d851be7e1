"""Where the time of a step goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import median

from autotune.config import Configuration
from autotune.diagnose.experiment import MANY_STEPS, Amount, Experiment, Sum, Timing, amount
from autotune.measure import Interval
from autotune.value import Value

SURE = 1.96
"""Standard deviations on either side of a 95 % interval."""
LIMITS = 0.3
"""From this share on a part is named as what limits the step."""
SURELY = 0.05
"""If it is so large beyond doubt."""
UNEQUAL = 1.25
"""A worker that works so many times as long as the others is a straggler."""


class Part(StrEnum):
    """What a step spends time on."""

    COMPUTE = "computing"
    """What one replica needs with the machine to itself and its batch in memory."""
    INPUT = "waiting for input"
    """What a batch that is held in memory saves."""
    CALL = "call overhead"
    """What Python and TensorFlow take for each call, whatever the batch."""
    EXCHANGE = "exchanging gradients"
    """The strategy's own work in each step, and adding up the gradients."""
    SHARING = "resource contention"
    """The rest: replicas that take cores and memory from each other, and wait for the slowest."""
    TOGETHER = "computing and exchanging gradients"
    """All of these, where none was timed by itself."""
    COMPANY = "exchanging gradients and resource contention"
    """Both, where only the computing was timed by itself."""


class Share(Value):
    """One part of a step."""

    part: Part
    share: Interval
    """Of the step's time, between zero and one."""


class Straggler(Value):
    """A worker that works longer on its step than the others do, so that they wait for it."""

    worker: int
    """Its index."""
    factor: float
    """Its core seconds of a step, as a multiple of the median of the others."""
    seconds: tuple[float, ...] = ()
    """Core seconds of a step, for each worker."""

    @property
    def waiting(self) -> float:
        """Share of its work on a step for which the others have nothing to do."""
        return 1 - 1 / self.factor


class Breakdown(Value):
    """A step of a configuration, taken apart."""

    configuration: Configuration
    milliseconds: float
    """Of a step in training, input included."""
    shares: tuple[Share, ...]
    """The largest first; empty where the experiments could not be made."""
    fixed: Interval | None = None
    """Share of a replica's own step that half a batch would take as well."""
    straggler: Straggler | None = None
    """The worker for which the others wait, if there is one."""

    def share(self, part: Part) -> float:
        """Return the share of a part, zero if it was not told apart."""
        return next((each.share.value for each in self.shares if each.part is part), 0.0)

    def is_limit(self, part: Part) -> bool:
        """Return whether a part takes much of the step, and is not noise alone."""
        mine = [each.share for each in self.shares if each.part is part]
        return any(share.value >= LIMITS and share.low >= SURELY for share in mine)

    def told_apart(self, part: Part) -> bool:
        """Return whether a part is known by itself."""
        return any(each.part is part for each in self.shares)

    def spent(self, part: Part) -> float:
        """Return the milliseconds of a part."""
        return self.share(part) * self.milliseconds


def breakdown(
    configuration: Configuration,
    step: Timing,
    found: Mapping[Experiment, Timing],
    noise: float,
) -> Breakdown:
    """Return where the time of a step goes.

    A part that comes out negative is none: then the timings differ by less than their noise.

    Args:
        configuration: Whose step.
        step: Its time in training.
        found: What the experiments measured; some may be missing.
        noise: Standard deviation of log(rate) between runs.
    """
    sums = dict(_sums(configuration, step, found))
    parts = {part: amount(terms, noise) for part, terms in sums.items()}
    whole = sum(max(each.seconds, 0.0) for each in parts.values())
    shares = [Share(part=part, share=_share(each, whole)) for part, each in parts.items()]
    return Breakdown(
        configuration=configuration,
        milliseconds=step.seconds * 1000,
        shares=tuple(sorted(shares, key=lambda each: -each.share.value)),
        fixed=_fixed(configuration, found, noise),
    )


def straggler(work_seconds: Sequence[float]) -> Straggler | None:
    """Return the worker for which the others wait, or None if all work about equally long.

    Args:
        work_seconds: Core seconds of a step, for each worker.
    """
    if len(work_seconds) < 2:
        return None
    worker = max(range(len(work_seconds)), key=lambda each: work_seconds[each])
    others = median(each for i, each in enumerate(work_seconds) if i != worker)
    factor = work_seconds[worker] / others if others > 0 else 1.0
    if factor < UNEQUAL:
        return None
    return Straggler(worker=worker, factor=factor, seconds=tuple(work_seconds))


def _sums(
    configuration: Configuration, step: Timing, found: Mapping[Experiment, Timing]
) -> Iterator[tuple[Part, Sum]]:
    held = found.get(Experiment.HELD)
    if held is None:
        return
    yield Part.INPUT, {step: 1.0, held: -1.0}
    if configuration.distributed:
        yield from _of_several(held, found)
    else:
        yield from _of_one(configuration, held, found)


def _of_one(
    configuration: Configuration, held: Timing, found: Mapping[Experiment, Timing]
) -> Iterator[tuple[Part, Sum]]:
    other = found.get(Experiment.CALLS)
    if other is None:
        yield Part.COMPUTE, {held: 1.0}
        return
    steps = configuration.steps_per_execution
    # A call takes as long for many steps as for one, so the difference of the two is known of it.
    factor = MANY_STEPS / (MANY_STEPS - 1) if steps == 1 else -1 / (steps - 1)
    yield Part.CALL, {held: factor, other: -factor}
    yield Part.COMPUTE, {held: 1 - factor, other: factor}


def _of_several(held: Timing, found: Mapping[Experiment, Timing]) -> Iterator[tuple[Part, Sum]]:
    alone, exchange = found.get(Experiment.ALONE), found.get(Experiment.EXCHANGE)
    if alone is None:
        yield Part.TOGETHER, {held: 1.0}
    elif exchange is None:
        yield Part.COMPUTE, {alone: 1.0}
        yield Part.COMPANY, {held: 1.0, alone: -1.0}
    else:
        yield Part.COMPUTE, {alone: 1.0}
        yield Part.EXCHANGE, {exchange: 1.0}
        yield Part.SHARING, {held: 1.0, alone: -1.0, exchange: -1.0}


def _share(part: Amount, whole: float) -> Interval:
    half = SURE * part.deviation
    low, high = part.seconds - half, part.seconds + half
    return Interval(
        low=min(max(low / whole, 0.0), 1.0),
        value=min(max(part.seconds / whole, 0.0), 1.0),
        high=min(max(high / whole, 0.0), 1.0),
    )


def _fixed(
    configuration: Configuration, found: Mapping[Experiment, Timing], noise: float
) -> Interval | None:
    """Return what of a step on one replica does not depend on the batch, as a share of it."""
    full = found.get(Experiment.ALONE if configuration.distributed else Experiment.HELD)
    half = found.get(Experiment.HALF)
    if full is None or half is None:
        return None
    return _share(amount({half: 2.0, full: -1.0}, noise), full.seconds)
