"""The throughput of every configuration against one device, a row each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from autotune.config import Configuration
from autotune.leaderboard import ITSELF, Entry
from autotune.measure import Interval
from autotune.report.html.scale import Reach, Scale, Tick, scale_for
from autotune.report.words import counted, in_short, rate_with_error, share
from autotune.result import Result
from autotune.run.engine import Outcome

SHOWN = 30
"""Rows that are drawn; the others stand in a table."""


class Mark(StrEnum):
    """How a configuration is drawn; no two differ by colour alone."""

    ALONE = "alone"
    DISTRIBUTED = "distributed"
    PRUNED = "pruned"


@dataclass(frozen=True, kw_only=True)
class Line:
    """A configuration."""

    label: str
    mark: Mark
    recommended: bool
    rate: str
    share: str
    note: str
    """What a reader should know of the figure; empty for one plain run."""
    reach: Reach | None
    """None where there is nothing to compare with."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Lines that may be compared with each other."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """The figure and its table, which are one."""

    sentence: str
    groups: tuple[Group, ...]
    rest: tuple[Line, ...]
    """The slowest, for which the drawing has no room."""
    ticks: tuple[Tick, ...]
    one: str
    """The place of one device."""
    marks: tuple[tuple[Mark, str], ...]
    """Those that occur, with their meaning."""


MEANINGS = {
    Mark.ALONE: "one device",
    Mark.DISTRIBUTED: "distributed",
    Mark.PRUNED: "stopped early, significantly slower",
}


def throughput(result: Result) -> Throughput:
    """Return the figure of a result's configurations."""
    finalists, explored = result.finalists, result.explored
    shown, rest = explored[: max(SHOWN - len(finalists), 0)], explored[SHOWN - len(finalists) :]
    scale = _scale([*finalists, *shown])
    groups = {"Finals": finalists, "While exploring": shown}
    used = {_mark(row) for row in (*finalists, *shown)}
    return Throughput(
        sentence=_sentence(finalists, explored),
        groups=tuple(
            Group(title=title, lines=_lines(rows, scale, result.config))
            for title, rows in groups.items()
            if rows
        ),
        rest=_lines(rest, scale, result.config),
        ticks=scale.ticks(),
        one=scale.at(1.0),
        marks=tuple((mark, MEANINGS[mark]) for mark in Mark if mark in used),
    )


def _scale(rows: Sequence[Entry]) -> Scale:
    shares = [row.speedup for row in rows if row.speedup]
    return scale_for(shares or [Interval(low=1, value=1, high=1)], 1.0)


def _lines(rows: Sequence[Entry], scale: Scale, chosen: Configuration) -> tuple[Line, ...]:
    return tuple(
        Line(
            label=in_short(row.configuration),
            mark=_mark(row),
            recommended=row.configuration == chosen,
            rate=rate_with_error(row.examples_per_second),
            share=share(row.speedup),
            note=_note(row),
            reach=scale.reach(row.speedup) if row.speedup else None,
        )
        for row in rows
    )


def _mark(row: Entry) -> Mark:
    if row.outcome is not Outcome.MEASURED:
        return Mark.PRUNED
    return Mark.DISTRIBUTED if row.configuration.distributed else Mark.ALONE


def _note(row: Entry) -> str:
    notes = {
        "the baseline": row.speedup == ITSELF,
        counted(row.runs, "run"): row.runs > 1,
        str(row.outcome): row.outcome is not Outcome.MEASURED,
    }
    return ", ".join(note for note, told in notes.items() if told)


def _sentence(finalists: Sequence[Entry], explored: Sequence[Entry]) -> str:
    count = counted(len(finalists) + len(explored), "configuration")
    text = f"{count} measured; lines are 95% intervals. "
    if not finalists:
        return f"{text}There were no finals."
    return (
        f"{text}Finalists ran again in alternating fresh processes, and only those runs decide; "
        "explored configurations are compared with one device during exploration."
    )
