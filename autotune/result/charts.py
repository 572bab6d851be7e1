"""The drawings: throughput of configurations, worth of batches, parts of a step.

Each is drawn by a fragment from what is computed here: places on a scale, in percent of the width,
so that it fits any screen, and the sentence above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from autotune.answer import Entry
from autotune.checks.breakdown import UNEXPLAINED, Breakdown, Part
from autotune.checks.diagnosis import Diagnosis
from autotune.reason import Outcome
from autotune.result.batches import ITSELF, Arms, Gain, batches, gain
from autotune.result.data import ResultData
from autotune.result.view import Row
from autotune.stats.intervals import Interval
from autotune.text import plural

SHOWN = 12
"""The best are drawn, and what they are compared with; the others stand in a table."""
EXAMPLES = 1000
"""Steps of different batches are compared by the time of so many examples."""
EDGE = 2.5
"""Percent of the width that stay free at either end."""
APART = 16
"""Percent of the width between two ticks at least, so that their letters have room on a phone."""
FEW = 4
"""Round values that an axis should have."""
NARROWEST = 1.25
"""An axis spans at least such a factor, so that noise does not fill it."""
FINE = 10.0
"""On an axis that spans less than such a factor, ticks are the same difference apart."""
BEYOND_POINTS = 1.6
"""An interval is drawn only so far beyond the outermost figures, as a factor."""


class Tick(NamedTuple):
    at: str
    text: str


class Reach(NamedTuple):
    at: str
    low: str
    high: str


class Scale(NamedTuple):
    """A logarithmic axis: the same factor is the same distance everywhere."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """Return the place of a value; what lies beyond the axis is put at its end."""
        return _percent(self._place(value))

    def reach(self, interval: Interval) -> Reach:
        return Reach(self.at(interval.value), self.at(interval.low), self.at(interval.high))

    def ticks(self) -> list[Tick]:
        """Return some round values of the axis, so far apart that their letters do not touch."""
        return [Tick(self.at(each), f"{each:,.6g}") for each in self._rounded()]

    def _rounded(self) -> list[float]:
        choices = [[each for each in c if self.low <= each <= self.high] for c in self._choices()]
        chosen = next((each for each in choices if len(each) >= FEW), choices[-1])
        kept: list[float] = []
        for value in sorted(chosen, key=lambda each: (each != 1, each)):
            if all(abs(self._place(value) - self._place(each)) >= APART for each in kept):
                kept.append(value)
        return sorted(kept)

    def _choices(self) -> Iterable[list[float]]:
        """Yield round values of the axis, ever more of them."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for leading in ((1,), (1, 3), (1, 2, 5)):
            yield [each * 10.0**decade for decade in decades for each in leading]
        power = 10.0 ** math.floor(math.log10(self.high - self.low))
        for share in (1, 0.5, 0.25, 0.2) if self.high / self.low < FINE else ():
            step = power * share
            yield [round(n * step, 12) for n in range(1, int(self.high / step) + 1)]

    def _place(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = math.log(inside / self.low) / math.log(self.high / self.low)
        return EDGE + share * (100 - 2 * EDGE)


def scale_for(intervals: Iterable[Interval], *held: float) -> Scale:
    """Return an axis for at least one figure with its interval, and further values to show."""
    known = tuple(intervals)
    points = [*(each.value for each in known), *held]
    least, most = min(points), max(points)
    low = max(min(least, *(each.low for each in known)), least / BEYOND_POINTS)
    high = min(max(most, *(each.high for each in known)), most * BEYOND_POINTS)
    spare = max(NARROWEST / (high / low), 1.0) ** 0.5
    return Scale(low / spare, high * spare)


def _percent(value: float) -> str:
    return f"{value:.2f}%"


MARKS: Mapping[str, str] = {
    "alone": "one device",
    "distributed": "distributed",
    "pruned": "stopped early, significantly slower",
}
"""How configurations are drawn, and what that means; no two marks differ by colour alone."""


def mark_of(entry: Entry) -> str:
    if entry.outcome is not Outcome.MEASURED:
        return "pruned"
    return "distributed" if entry.configuration.distributed else "alone"


class Throughput(NamedTuple):
    """Every configuration against the user's own settings, a row each with its interval."""

    sentence: str
    rows: Sequence[Row]
    rest: Sequence[Row]
    """The others, for which the drawing has no room."""
    scale: Scale

    @property
    def marks(self) -> dict[str, str]:
        used = {mark_of(each.entry) for each in self.rows}
        return {mark: meaning for mark, meaning in MARKS.items() if mark in used}


def throughput(rows: Sequence[Row]) -> Throughput:
    first = {*sorted(range(len(rows)), key=lambda i: not rows[i].compared)[:SHOWN]}
    drawn = [each for i, each in enumerate(rows) if i in first]
    shown = [each.entry.ratio for each in drawn]
    return Throughput(
        sentence=f"{plural(len(rows), 'configuration')} measured; lines are 95% intervals.",
        rows=drawn,
        rest=[each for i, each in enumerate(rows) if i not in first],
        scale=scale_for(shown or [ITSELF], 1.0),
    )


class BatchTimes(NamedTuple):
    rows: Sequence[Gain]
    """The user's own first."""

    def at(self, time: float) -> str:
        """Return how far a bar reaches, in percent of the width; an interval may be cut off."""
        most = max(min(each.time.high, each.time.value * BEYOND_POINTS) for each in self.rows)
        return _percent(100 * min(time / most, 1.0))


def batch_times(result: ResultData) -> BatchTimes | None:
    known, compared = result.facts.learning, batches(result)
    if known is None:
        return None
    rows = [found for _, arms in sorted(compared.items()) if (found := gain(arms, known))]
    if not rows:
        return None
    own = max((arms.own for arms in compared.values()), key=lambda o: o.examples_per_second.value)
    return BatchTimes([Gain(Arms(own, own), ITSELF, 1.0), *rows])


PARTS: Mapping[str, str] = {
    **{str(part): part.name.lower() for part in Part},
    UNEXPLAINED: "unexplained",
}
"""Parts in the order in which they stand in every bar, with their colours in the style sheet."""


class Bar(NamedTuple):
    """A step, as long as it takes for `EXAMPLES` examples."""

    title: str
    found: Breakdown

    @property
    def milliseconds(self) -> float:
        """Of `EXAMPLES` examples."""
        return self.found.milliseconds / self.found.configuration.global_batch * EXAMPLES

    @property
    def shares(self) -> dict[str, Interval]:
        """The share of each part that is known, and of what they leave over."""
        known: dict[str, Interval] = {each.part: each.share for each in self.found.shares}
        if self.found.unexplained is not None:
            known[UNEXPLAINED] = self.found.unexplained
        return {part: known[part] for part in PARTS if part in known}

    @property
    def drawn(self) -> dict[str, float]:
        """Milliseconds of what takes time."""
        return {p: s.value * self.milliseconds for p, s in self.shares.items() if s.value > 0}

    def interval(self, part: str) -> str:
        share = self.shares[part]
        return f"{share.low * self.milliseconds:,.3g} to {share.high * self.milliseconds:,.3g}"

    def time(self, part: str) -> str:
        return f"{self.shares[part].value * self.milliseconds:,.3g} ms"


class Segment(NamedTuple):
    part: str
    style: str
    at: str
    width: str


class Steps(NamedTuple):
    """Where the time of a step goes: a bar for one device, one for the best distributed."""

    sentence: str
    bars: Sequence[Bar]

    @property
    def parts(self) -> dict[str, str]:
        """Those that occur, with their colours."""
        return {p: c for p, c in PARTS.items() if any(p in bar.shares for bar in self.bars)}

    def segments(self, bar: Bar) -> list[Segment]:
        """Return what takes time in a bar, against the longest one."""
        longest = max(sum(each.drawn.values()) for each in self.bars)
        widths = {part: 100 * each / longest for part, each in bar.drawn.items()}
        ends = accumulate(widths.values())
        return [
            Segment(part, PARTS[part], _percent(end - width), _percent(width))
            for (part, width), end in zip(widths.items(), ends, strict=True)
        ]


def steps(diagnosis: Diagnosis | None) -> Steps | None:
    if diagnosis is None:
        return None
    named = {"One device": diagnosis.one_device, "Distributed": diagnosis.distributed}
    bars = [Bar(title, found) for title, found in named.items() if found and found.shares]
    alone = " There was time for only one of the two." if len(bars) < len(named) else ""
    text = (
        "Measured by experiments, not with a profiler: the same step in turns with its batch kept "
        "in memory, with more steps per call, without the exchange of gradients, and on a single "
        "replica. Runs that contradict each other widen the intervals. "
        f"Bars show the time for {EXAMPLES:,} examples.{alone}"
    )
    return Steps(text, bars) if bars else None
