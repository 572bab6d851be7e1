"""The drawing of what batches are worth: examples per second against what an example teaches.

Both axes are logarithmic, so what takes the same time to the same loss lies on a diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autotune.reason import Outcome
from autotune.report.html.charts import Mark, mark_of
from autotune.report.html.scale import Scale, Tick, scale_for
from autotune.report.learning import answer, batches
from autotune.result import Result
from autotune.result.batches import Arms, gain
from autotune.result.leaderboard import ITSELF, Entry, Leaderboard
from autotune.stats import Interval
from autotune.stats.efficiency import Examples, examples_needed, learning_rate_factor
from autotune.stats.gradients import Learning
from autotune.strategies import update_batch

TIMES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Of the progress of the user's own batch, those that have a line."""
TOUCHING = 6.0
"""Percent of the height that two labels need between them."""
SENTENCE = (
    "Every point is a configuration. What lies on one diagonal is equally fast to the same loss; "
    "above the dashed one it is faster than your own batch. Vertical lines are 95% intervals."
)
OWN = Examples(1.0, 1.0, 1.0)
"""Of the user's own batch."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A configuration."""

    mark: Mark
    x: str
    y: str
    low: str
    high: str
    """Ends of the interval of what an example teaches."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What makes so many times the progress of the user's own batch."""

    times: str
    own: bool
    """Whether it is that of the own batch."""
    x1: str
    y1: str
    x2: str
    y2: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """A batch in the table."""

    batch: int
    learning_rate: str
    examples_per_second: Interval
    needed: Interval
    time: Interval
    """To the same loss, as a multiple of that of the own batch."""
    answer: str


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What is drawn, and the same as a table."""

    sentence: str
    ticks: Sequence[Tick]
    """Of the examples per second."""
    levels: Sequence[Tick]
    """Of the batches, from above."""
    points: Sequence[Point]
    lines: Sequence[Line]
    rows: Sequence[Row]
    marks: Sequence[Mark]


def worth(result: Result) -> Worth | None:
    """Return the figure, or None where no other batch was compared."""
    known = result.facts.learning
    found = {b: arms for b, arms in batches(result).items() if known and _is_known(known, b)}
    if known is None or not found:
        return None
    levels = {batch: _level(known, batch) for batch in (known.batch, *found)}
    entries = [each for each in _entries(result) if update_batch(each.configuration) in levels]
    scale = scale_for([each.examples_per_second for each in entries])
    up = scale_for(levels.values())
    points = [_point(each, scale, up, levels[update_batch(each.configuration)]) for each in entries]
    own = max((arms.own for arms in found.values()), key=lambda o: o.examples_per_second.value)
    return Worth(
        sentence=SENTENCE,
        ticks=scale.ticks(),
        levels=_labels(levels, up),
        points=points,
        lines=list(_lines(scale, up, own.examples_per_second.value)),
        rows=[_own_row(known, own), *(_row(known, batch, found[batch]) for batch in sorted(found))],
        marks=[mark for mark in Mark if mark in {each.mark for each in points}],
    )


def _entries(result: Result) -> list[Entry]:
    board = Leaderboard(result.trials, result.one_device)
    every = [*board.finalists, *board.others]
    return [each for each in every if each.outcome is Outcome.MEASURED]


def _is_known(known: Learning, batch: int) -> bool:
    return batch == known.batch or examples_needed(known, batch) is not None


def _needed(known: Learning, batch: int) -> Examples:
    return examples_needed(known, batch) or OWN


def _level(known: Learning, batch: int) -> Interval:
    """Return what an example teaches at a batch, as a share of what it does at the user's own."""
    low, value, high = _needed(known, batch)
    return Interval(low=1 / high, value=1 / value, high=1 / low)


def _labels(levels: Mapping[int, Interval], up: Scale) -> list[Tick]:
    """Return the batches at the heights where they lie, as far as they do not touch."""
    kept: list[Tick] = []
    for batch in sorted(levels):
        at = up.above(levels[batch].value)
        if all(abs(float(at[:-1]) - float(each.at[:-1])) >= TOUCHING for each in kept):
            kept.append(Tick(at, f"{batch:,}"))
    return kept


def _point(entry: Entry, rates: Scale, up: Scale, level: Interval) -> Point:
    return Point(
        mark=mark_of(entry),
        x=rates.at(entry.examples_per_second.value),
        y=up.above(level.value),
        low=up.above(level.low),
        high=up.above(level.high),
    )


def _lines(rates: Scale, up: Scale, own: float) -> Iterator[Line]:
    for times in TIMES:
        left = max(rates.low, times * own / up.high)
        right = min(rates.high, times * own / up.low)
        if left < right:
            yield Line(
                times=f"{times:g}\N{MULTIPLICATION SIGN}",
                own=times == 1,
                x1=rates.at(left),
                y1=up.above(times * own / left),
                x2=rates.at(right),
                y2=up.above(times * own / right),
            )


def _own_row(known: Learning, own: Entry) -> Row:
    return Row(
        batch=known.batch,
        learning_rate="1",
        examples_per_second=own.examples_per_second,
        needed=ITSELF,
        time=ITSELF,
        answer="your own",
    )


def _row(known: Learning, batch: int, arms: Arms) -> Row:
    needed, found = _needed(known, batch), gain(arms, known)
    progress = found.progress if found else ITSELF
    return Row(
        batch=batch,
        learning_rate=f"{learning_rate_factor(known, batch):.2g}",
        examples_per_second=arms.other.examples_per_second,
        needed=Interval(low=needed.low, value=needed.value, high=needed.high),
        time=Interval(low=1 / progress.high, value=1 / progress.value, high=1 / progress.low),
        answer=answer(found) if found else "",
    )
