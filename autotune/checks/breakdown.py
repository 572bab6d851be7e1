"""Where the time of a step goes, and which worker the others wait for.

Workers that train apart, each with a batch in memory, wait for nobody: what a step takes each of
them is its own. What the group's step takes beyond the longest of these is the exchange. Without
its slowest worker a group of n waits for the next one, and exchanges among n - 1: a ring of fewer
hosts passes fewer bytes and has fewer neighbours, and at worst takes as long as before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from statistics import fmean, median

from autotune.checks.experiment import MANY_STEPS, Experiment, Seconds, Terms, Timings
from autotune.checks.remedies import Advice, Tried
from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise, t_quantile
from autotune.value import Value

LIMITS = 0.3
"""From this share on a part is named as what limits the step."""
SIGNIFICANT = 0.05
"""If it is so large at 95 % confidence."""
UNEQUAL = 1.25
"""A worker that takes so many times as long as the others is a straggler."""
_ROUNDING = 1e-9


class Part(StrEnum):
    """What a step spends time on."""

    COMPUTE = "computing"
    """What one replica needs with the machine to itself and its batch in memory."""
    INPUT = "waiting for input"
    """What a batch that is held in memory saves."""
    CALLBACKS = "callbacks"
    """What the callbacks of the user and the progress bar take."""
    CALL = "call overhead"
    """What Python and TensorFlow take for each call, whatever the batch."""
    EXCHANGE = "exchanging gradients"
    """What the exchange adds to the step, waiting for the slowest replica included; what the
    computing hides of it is no part of the step."""
    SHARING = "resource contention"
    """What the other replicas add without any exchange: the strategy's own work, and the cores and
    memory that they take from each other."""


UNEXPLAINED = "not explained"
"""What the parts leave over."""


Callbacks = Sequence[tuple[str, float]]
"""Each with its seconds of a step, the heaviest first."""


class Share(Value):
    """One part of a step."""

    part: Part
    share: Interval
    """Of the step's time, its ends too: between nothing and all of it."""


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


class Breakdown(Value):
    """A step of a configuration, taken apart by runs."""

    configuration: Configuration
    milliseconds: float
    """Of a step in training, input included."""
    shares: tuple[Share, ...]
    """The largest first; empty where the experiments could not be made."""
    unexplained: Interval | None = None
    """Share of the step that the parts leave over; None where they are all of it."""
    callbacks: tuple[tuple[str, float], ...] = ()
    """Each with its seconds of a step, the heaviest first."""
    fixed: Interval | None = None
    """Share of a replica's own step that half a batch would take as well."""
    straggler: Straggler | None = None
    """The worker for which the others wait, if there is one."""
    remedied: Tried | None = None
    """What a remedy for its input has brought it, where one helped."""
    advice: Advice | None = None
    """The most promising remedy for its input that it does not have."""

    def share(self, part: Part) -> float:
        """Return the share of a part, zero if it was not measured apart."""
        return next((each.share.value for each in self.shares if each.part is part), 0.0)

    def is_limit(self, part: Part) -> bool:
        """Return whether a part takes much of the step, and is not noise alone."""
        mine = (each.share for each in self.shares if each.part is part)
        return any(share.value >= LIMITS and share.low >= SIGNIFICANT for share in mine)

    def spent(self, part: Part) -> float:
        """Return the milliseconds of a part."""
        return self.share(part) * self.milliseconds


def breakdown(
    configuration: Configuration,
    seconds: Seconds,
    noise: Noise,
    *,
    otherwise: float,
    callbacks: Callbacks = (),
) -> Breakdown:
    """Return where the time of a step goes.

    Each part is what a timed run took, or a difference of two, and all together are the step.
    The noise is that between runs; `otherwise` are the seconds of a step that was not timed here.
    """
    timed = _in_order(configuration, seconds, noise)
    shares, left = _taken_apart(configuration, timed)
    whole = timed.seconds.get(Experiment.STEP) or otherwise
    shares = [*_without(shares, callbacks, whole)]
    # They were timed in another run of the step.
    fit = min(whole / (sum(each for _, each in callbacks) or whole), 1.0)
    own = Experiment.ALONE if configuration.distributed else Experiment.HELD
    return Breakdown(
        configuration=configuration,
        milliseconds=1000 * whole,
        shares=tuple(sorted(shares, key=lambda each: -each.share.value)),
        callbacks=tuple((name, fit * each) for name, each in callbacks),
        unexplained=_within(timed.share(left)) if shares and left else None,
        fixed=_within(timed.share({Experiment.HALF: 2, own: -1}, of=own)),
    )


def _in_order(configuration: Configuration, seconds: Seconds, noise: Noise) -> Timings:
    """Return the likeliest timings of which none is longer than another that contains it.

    Runs that have it otherwise are each taken for their mean (isotonic regression of logarithms),
    and what they differ by is noise.
    """
    whole = (Experiment.ALONE, Experiment.APART, Experiment.HELD, Experiment.STEP)
    chain = [each for each in whole if each in seconds]
    blocks: list[list[float]] = []
    for each in chain:
        blocks.append([math.log(seconds[each])])
        while len(blocks) > 1 and fmean(blocks[-2]) >= fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    means = [fmean(block) for block in blocks for _ in block]
    off = math.hypot(*(log - fmean(block) for block in blocks for log in block))
    found = {**seconds, **{each: math.exp(mean) for each, mean in zip(chain, means, strict=True)}}
    # Half a batch takes from half of the time to all of it, and a call no less than nothing.
    steps = configuration.steps_per_execution
    calls = (1.0, steps) if steps > 1 else (1 / MANY_STEPS, 1.0)
    if own := found.get(Experiment.ALONE if configuration.distributed else Experiment.HELD):
        for each, (low, high) in ((Experiment.HALF, (0.5, 1.0)), (Experiment.CALLS, calls)):
            if each in found:
                found[each] = min(max(found[each], low * own), high * own)
    return Timings(found, noise.model_copy(update={"sd": max(noise.sd, off)}))


def _within(share: Interval | None) -> Interval | None:
    """Return a share of a step, none of which lies outside of it."""
    if share is None:
        return None
    return Interval(**{end: min(max(each, 0.0), 1.0) for end, each in share})


def _without(shares: list[Share], callbacks: Callbacks, whole: float) -> Iterator[Share]:
    """Yield shares without what callbacks take, and that: timed itself, in a run of the step.

    Python calls them between two calls of the step, so that without this they would count as what
    a call takes, or as computing: those of an epoch, and all where calls are not measured apart.
    """
    found = {each.part: each.share for each in shares}
    most = sum(found[part].value for part in (Part.CALL, Part.COMPUTE) if part in found)
    taken = min(sum(each for _, each in callbacks) / whole, most)
    if not taken or Part.COMPUTE not in found:
        yield from shares
        return
    yield Share(part=Part.CALLBACKS, share=Interval(low=taken, value=taken, high=taken))
    of_calls = min(found[Part.CALL].value, taken) if Part.CALL in found else 0.0
    less = {Part.CALL: of_calls, Part.COMPUTE: taken - of_calls}
    for part, held in found.items():
        ends = {end: max(each - less.get(part, 0.0), 0.0) for end, each in held}
        yield Share(part=part, share=Interval(**ends))


def _taken_apart(configuration: Configuration, timed: Timings) -> tuple[list[Share], Terms]:
    """Return the parts that are known, and what they leave over of the step."""
    shares, left = [], Counter[Experiment]({Experiment.STEP: 1})
    for part, terms in _parts(configuration, timed):
        found = _within(timed.share(terms))
        if found is not None:
            shares.append(Share(part=part, share=found))
            left.subtract(terms)
    return shares, {each: factor for each, factor in left.items() if abs(factor) > _ROUNDING}


def _parts(configuration: Configuration, timed: Timings) -> Iterator[tuple[Part, Terms]]:
    yield Part.INPUT, {Experiment.STEP: 1, Experiment.HELD: -1}
    if configuration.distributed:
        yield Part.EXCHANGE, {Experiment.HELD: 1, Experiment.APART: -1}
        yield Part.COMPUTE, {Experiment.ALONE: 1}
        yield Part.SHARING, {Experiment.APART: 1, Experiment.ALONE: -1}
    elif {Experiment.HELD, Experiment.CALLS} <= timed.seconds.keys():
        yield from _with_calls(configuration.steps_per_execution)
    else:
        yield Part.COMPUTE, {Experiment.HELD: 1}


def _with_calls(steps: int) -> Iterator[tuple[Part, Terms]]:
    # A call takes as long for many steps as for one, so the difference of the two is known of it.
    factor = MANY_STEPS / (MANY_STEPS - 1) if steps == 1 else -1 / (steps - 1)
    yield Part.CALL, {Experiment.HELD: factor, Experiment.CALLS: -factor}
    yield Part.COMPUTE, {Experiment.HELD: 1 - factor, Experiment.CALLS: factor}


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
