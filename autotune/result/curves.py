"""The drawing of trainings to one loss: how it fell over time at each batch.

Both axes are logarithmic: a batch that takes twice as long lies the same distance to the right
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.engine.engine import Outcome
from autotune.learning import Look, Race, Trained
from autotune.result.data import ResultData
from autotune.result.scale import Scale, Tick, scale_for
from autotune.stats import Interval

ROOM = 2.0
"""Times the first loss of the own batch, beyond which a training is not followed."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    batch: int
    lines: Sequence[str]
    """Of each seed, as points in percent of the drawing."""
    reached: Sequence[str]
    """Seconds to the loss from each seed, or that it was not reached."""


@dataclass(frozen=True, kw_only=True)
class Curves:
    sentence: str
    batches: Sequence[Batch]
    """The user's own first."""
    loss: str
    """Where the loss lies that was to be reached, from above."""
    losses: Sequence[Tick]
    seconds: Sequence[Tick]


def curves(result: ResultData) -> Curves | None:
    known = result.facts.learning
    race = known.race if known else None
    if known is None or race is None:
        return None
    rates = _rates(result)
    drawn = [each for each in race.trainings if each.batch in rates and each.looks]
    if known.batch not in {each.batch for each in drawn} or _least(race, drawn) <= 0:
        return None
    seconds = [_exact(look.examples / rates[t.batch]) for t in drawn for look in t.looks]
    across = scale_for(seconds)
    up = scale_for([_exact(race.loss)], _least(race, drawn), _most(known.batch, drawn))
    batches = [known.batch, *sorted({each.batch for each in drawn} - {known.batch})]
    return Curves(
        sentence=_sentence(race),
        batches=[_batch([t for t in drawn if t.batch == b], rates[b], across, up) for b in batches],
        loss=up.above(race.loss),
        losses=up.ticks(upright=True),
        seconds=across.ticks(),
    )


def _rates(result: ResultData) -> dict[int, float]:
    """Return the examples per second of the fastest single device with each batch."""
    found: dict[int, float] = {}
    for each in result.compared:  # Those of the finals come first.
        if each.outcome is Outcome.MEASURED and not each.configuration.distributed:
            batch, rate = each.configuration.global_batch, each.examples_per_second.value
            found.setdefault(batch, rate)
    return found


def _sentence(race: Race) -> str:
    examples = f"{race.held_out:,} examples"
    of = (
        f"{examples} of your validation data"
        if race.validates
        else f"{examples} that were held out of every training"
    )
    return (
        f"The loss on {of}, on one device, smoothed; each line is a seed. Seconds are those of its "
        "examples at the fastest speed of one device with the batch; compiling and the looks "
        "at the loss do not count."
    )


def _least(race: Race, drawn: Sequence[Trained]) -> float:
    return min(race.loss, *(look.loss for each in drawn for look in each.looks))


def _most(own: int, drawn: Sequence[Trained]) -> float:
    """Return the highest first loss, as far as the own batch leaves it room."""
    first = {each: each.looks[0].loss for each in drawn}
    return min(max(first.values()), ROOM * max(first[t] for t in drawn if t.batch == own))


def _exact(value: float) -> Interval:
    return Interval(low=value, value=value, high=value)


def _batch(trained: Sequence[Trained], rate: float, across: Scale, up: Scale) -> Batch:
    return Batch(
        batch=trained[0].batch,
        lines=[_points(each.looks, rate, across, up) for each in trained],
        reached=[
            f"{each.reached / rate:,.3g}" if each.reached else "not reached" for each in trained
        ],
    )


def _points(looks: Sequence[Look], rate: float, across: Scale, up: Scale) -> str:
    places = [(across.at(each.examples / rate), up.above(each.loss)) for each in looks]
    return " ".join(f"{x[:-1]},{y[:-1]}" for x, y in places)
