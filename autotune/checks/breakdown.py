"""Where the time of a step goes: the runs that take it apart, and what they show.

Each run, an experiment, is the configuration itself with one thing changed. What two of them differ
by is what the thing takes that one lacks: the input, the call, the exchange, the other replicas.

Noise multiplies. With errors e of log(seconds), a sum of shares c t / t_0 is off by that of
c t / t_0 (e - e_0).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from autotune.base import Value
from autotune.checks.remedies import Advice, Tried
from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise, t_quantile
from autotune.strategies import strategy

MANY_STEPS = 8
"""Steps in a call, against one, to tell what a call takes."""
LIMITS = 0.3
"""From this share on a part is named as what limits the step."""
SIGNIFICANT = 0.05
"""If it is so large at 95 % confidence."""
_ROUNDING = 1e-9


class Experiment(StrEnum):
    """A run of the configuration, or of something that differs from it in one thing."""

    STEP = "step"
    """The configuration itself, as it trains."""
    HELD = "held"
    """Every step takes the same batch, held in memory."""
    CALLS = "calls"
    """As `HELD`, with another number of steps for each call."""
    APART = "apart"
    """As `HELD`, by replicas that each apply their own gradients and exchange nothing."""
    ALONE = "alone"
    """As `HELD`, by one replica that has the machine to itself."""
    HALF = "half"
    """As `HELD`, by one replica alone with half of its batch."""


Seconds = Mapping[Experiment, float]
"""Of a step in each experiment that was made: time may have ended before some."""
Terms = Mapping[Experiment, float]
"""What is added up: experiments, each with the factor by which it counts."""


class Variant(Value):
    """What an experiment runs."""

    configuration: Configuration
    held: bool = True
    """Whether every step takes the same batch, held in memory."""
    exchanges: bool = True
    """Whether its replicas exchange their gradients."""


def telling(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments without which the parts of a step are not known."""
    if not configuration.distributed:
        return (Experiment.STEP, Experiment.HELD)
    # Workers that only meet on parameter servers train nothing without them.
    apart = () if strategy(configuration.strategy).asynchronous else (Experiment.APART,)
    return (Experiment.STEP, Experiment.HELD, *apart, Experiment.ALONE)


def further(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments that tell more, the most telling first."""
    half = (Experiment.HALF,)
    return half if configuration.distributed else (Experiment.CALLS, *half)


def variant(configuration: Configuration, experiment: Experiment) -> Variant | None:
    """Return what an experiment runs; None where there is no such thing."""
    alone, half = configuration.on_one_device(), configuration.per_replica_batch // 2
    match experiment:
        case Experiment.STEP:
            return Variant(configuration=configuration, held=False)
        case Experiment.APART:
            return Variant(configuration=configuration, exchanges=False)
        case Experiment.CALLS:
            steps = MANY_STEPS if configuration.steps_per_execution == 1 else 1
            configuration = configuration.but(steps_per_execution=steps)
        case Experiment.ALONE:
            configuration = alone
        case Experiment.HALF:
            if not half:
                return None
            configuration = alone.but(per_replica_batch=half)
    return Variant(configuration=configuration)


class Timings(NamedTuple):
    """What experiments took, and the noise between runs."""

    seconds: Seconds
    noise: Noise

    def share(self, terms: Terms, of: Experiment = Experiment.STEP) -> Interval | None:
        """Return a sum of timings as a share of one, with its 95 % interval; it may be negative.

        None if something that it takes was not made.
        """
        if not {*terms, of} <= self.seconds.keys():
            return None
        whole = self.seconds[of]
        parts = {each: factor * self.seconds[each] / whole for each, factor in terms.items()}
        value = sum(parts.values())
        others = [part for each, part in parts.items() if each is not of]
        error = self.noise.sd * math.sqrt(sum(x * x for x in others) + sum(others) ** 2)
        half = t_quantile(self.noise.degrees, 0.975) * error
        return Interval(low=value - half, value=value, high=value + half)


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
        # A call takes as long for many steps as for one, so their difference tells what it takes.
        steps = configuration.steps_per_execution
        factor = MANY_STEPS / (MANY_STEPS - 1) if steps == 1 else -1 / (steps - 1)
        yield Part.CALL, {Experiment.HELD: factor, Experiment.CALLS: -factor}
        yield Part.COMPUTE, {Experiment.HELD: 1 - factor, Experiment.CALLS: factor}
    else:
        yield Part.COMPUTE, {Experiment.HELD: 1}
