"""The drawings: throughput of configurations, parts of a step, break-even.

Each is drawn by a fragment from what is computed here: places on a scale, and the sentence above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from autotune.config import Configuration
from autotune.diagnose.breakdown import UNEXPLAINED, Breakdown, Part
from autotune.diagnose.diagnosis import BEYOND, BreakEven, Diagnosis
from autotune.engine.engine import Outcome
from autotune.report.html.scale import Scale, percent, scale_for
from autotune.report.profile import MEGABIT, waits_for_input, where_it_pays
from autotune.report.result import WHOSE
from autotune.result.leaderboard import ITSELF, Entry
from autotune.stats import Interval
from autotune.wording import plural

SHOWN = 30
"""Configurations that are drawn; the others stand in a table."""
EXAMPLES = 1000
"""Steps of different batches are compared by the time of so many examples."""
NETWORKS = (1000.0, 10_000.0)
"""Mbit/s of usual networks, as a help to the eye."""


class Mark(StrEnum):
    """How a configuration is drawn; no two differ by colour alone."""

    ALONE = "alone"
    DISTRIBUTED = "distributed"
    PRUNED = "pruned"

    @property
    def meaning(self) -> str:
        """What it stands for."""
        return {
            Mark.ALONE: "one device",
            Mark.DISTRIBUTED: "distributed",
            Mark.PRUNED: "stopped early, significantly slower",
        }[self]


def mark_of(entry: Entry) -> Mark:
    """Return how a configuration is drawn."""
    if entry.outcome is not Outcome.MEASURED:
        return Mark.PRUNED
    return Mark.DISTRIBUTED if entry.configuration.distributed else Mark.ALONE


def note_on(entry: Entry) -> str:
    """Return what a reader should know of a figure; empty for one plain run."""
    notes = {
        "the baseline": entry.speedup == ITSELF,
        plural(entry.runs, "run"): entry.runs > 1,
        str(entry.outcome): entry.outcome is not Outcome.MEASURED,
        **{WHOSE[each]: True for each in entry.origins},
    }
    return ", ".join(note for note, told in notes.items() if told)


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """The throughput of every configuration against one device, a row each with its interval."""

    sentence: str
    groups: Mapping[str, Sequence[Entry]]
    """What may be compared with each other, by the heading of the group."""
    rest: Sequence[Entry]
    """The slowest, for which the drawing has no room."""
    scale: Scale
    chosen: Configuration | None
    """The recommended configuration; None while there is none."""

    @property
    def marks(self) -> list[Mark]:
        """The marks that occur."""
        used = {mark_of(each) for group in self.groups.values() for each in group}
        return [mark for mark in Mark if mark in used]


def throughput(
    finalists: Sequence[Entry], explored: Sequence[Entry], chosen: Configuration | None
) -> Throughput:
    """Return the figure of some configurations.

    Args:
        finalists: What was compared in the finals, the fastest first.
        explored: What else was measured, likewise.
        chosen: What is recommended, if that is known.
    """
    room = max(SHOWN - len(finalists), 0)
    groups = {"Finals": finalists, "While exploring": explored[:room]}
    shown = [each.speedup for group in groups.values() for each in group if each.speedup]
    return Throughput(
        sentence=_compared(finalists, explored, over=chosen is not None),
        groups={heading: group for heading, group in groups.items() if group},
        rest=explored[room:],
        scale=scale_for(shown or [ITSELF], 1.0),
        chosen=chosen,
    )


def _compared(finalists: Sequence[Entry], explored: Sequence[Entry], *, over: bool) -> str:
    count = plural(len(finalists) + len(explored), "configuration")
    text = f"{count} measured; lines are 95% intervals. "
    if not finalists:
        return f"{text}There were no finals." if over else text.strip()
    return (
        f"{text}Finalists ran again in alternating fresh processes, and only those runs decide; "
        "explored configurations are compared with one device during exploration."
    )


class Kind(NamedTuple):
    """What a stretch of a bar stands for."""

    title: str
    style: str
    """Of its colour in the style sheet."""


KINDS = (*(Kind(part, part.name.lower()) for part in Part), Kind(UNEXPLAINED, "unexplained"))
"""In the order in which they stand in every bar."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A step, as long as it takes for `EXAMPLES` examples; longer where its parts overlap."""

    title: str
    found: Breakdown
    longest: float = 0.0
    """Milliseconds of the longest bar."""

    @property
    def milliseconds(self) -> float:
        """Of `EXAMPLES` examples."""
        return self.found.milliseconds / self.found.configuration.global_batch * EXAMPLES

    @property
    def drawn(self) -> float:
        """Milliseconds that the bar is long."""
        return sum(max(each.value, 0.0) for each in self.shares.values()) * self.milliseconds

    @property
    def shares(self) -> dict[Kind, Interval]:
        """The share of each part that is known, and of what they leave over."""
        known: dict[str, Interval] = {each.part: each.share for each in self.found.shares}
        if self.found.unexplained is not None:
            known[UNEXPLAINED] = self.found.unexplained
        return {kind: known[kind.title] for kind in KINDS if kind.title in known}

    @property
    def segments(self) -> list[tuple[Kind, str, str]]:
        """What takes time, in one order for all bars, each with its place and its width."""
        scale = 100 * self.milliseconds / self.longest
        positive = [(kind, each.value) for kind, each in self.shares.items() if each.value > 0]
        ends = accumulate(value for _, value in positive)
        return [
            (kind, percent((end - value) * scale), percent(value * scale))
            for (kind, value), end in zip(positive, ends, strict=True)
        ]

    def time(self, kind: Kind) -> str:
        """Return the time of a part, for `EXAMPLES` examples."""
        return f"{self.shares[kind].value * self.milliseconds:,.3g} ms"


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Where the time of a step goes: a bar for one device, one for the best distributed."""

    sentence: str
    bars: Sequence[Bar]
    kinds: Sequence[Kind]
    """Those that occur."""


def steps(diagnosis: Diagnosis | None) -> Steps | None:
    """Return the figure of a diagnosis, or None if no step was taken apart."""
    if diagnosis is None:
        return None
    named = {"One device": diagnosis.one_device, "Distributed": diagnosis.distributed}
    found = {title: each for title, each in named.items() if each and each.shares}
    if not found:
        return None
    bars = [Bar(title=name, found=each) for name, each in found.items()]
    longest = max(each.drawn for each in bars)
    occurring = {kind for bar in bars for kind in bar.shares}
    text = (
        "Measured by experiments, not with a profiler: the same step in turns with its batch kept "
        "in memory, with more steps per call, without the exchange of gradients, and on a single "
        "replica. What they do not explain is negative where parts overlap, or where something "
        "disturbed the runs. "
        f"Bars show the time for {EXAMPLES:,} examples."
    )
    return Steps(
        sentence=text if len(found) > 1 else f"{text} There was time for only one of the two.",
        bars=[replace(each, longest=longest) for each in bars],
        kinds=[kind for kind in KINDS if kind in occurring],
    )


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A figure from which distribution pays."""

    what: str
    figure: Interval
    value: str
    interval: str
    scale: Scale
    here: float | None
    """What was measured; None where nothing was."""


@dataclass(frozen=True, kw_only=True)
class Pays:
    """Where distribution would begin to pay."""

    sentences: Sequence[str]
    thresholds: Sequence[Threshold]


def pays(diagnosis: Diagnosis | None) -> Pays | None:
    """Return what a diagnosis knows of the break-even, or None if that is nothing."""
    if diagnosis is None or diagnosis.break_even is None:
        return None
    found = diagnosis.break_even
    thresholds = [_batch(found, found.batch)] if found.batch else []
    if found.bandwidth:
        thresholds.append(_network(found.bandwidth))
    sentences = tuple(where_it_pays(found, waits=waits_for_input(diagnosis.distributed)))
    return Pays(sentences=sentences, thresholds=thresholds)


def _batch(found: BreakEven, batch: Interval) -> Threshold:
    measured = found.configuration.per_replica_batch
    return Threshold(
        what="per-replica batch size",
        figure=batch,
        value=f"{batch.value:,.0f}",
        interval=f"{batch.low:,.0f} to {_or_more(batch.high, f'{batch.high:,.0f}')}",
        scale=scale_for([batch], measured, found.farthest),
        here=measured,
    )


def _network(bandwidth: Interval) -> Threshold:
    low, value, high = (each / MEGABIT for each in (bandwidth.low, bandwidth.value, bandwidth.high))
    figure = Interval(low=low, value=value, high=high)
    return Threshold(
        what="Mbit/s between machines like this one",
        figure=figure,
        value=f"{value:,.3g}",
        interval=f"{low:,.3g} to {_or_more(bandwidth.high, f'{high:,.3g}')}",
        scale=scale_for([figure], *NETWORKS),
        here=None,
    )


def _or_more(value: float, text: str) -> str:
    return text if value < BEYOND else "far more"
