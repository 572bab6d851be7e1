"""The trials of a job as rows, sorted by what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from autotune.leaderboard import Leaderboard
from autotune.report.result import FAILURES
from autotune.report.words import in_short, rate, sentence
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
from autotune.trial import Stage, Trial

STAGES = {
    Stage.BASELINE: "One device",
    Stage.EXPLORE: "Distributed",
    Stage.FINAL: "Finals",
}
"""The phases of a search in a word or two."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A trial in a table."""

    number: int
    configuration: str
    outcome: str
    rate: str
    share: str
    """Throughput as a multiple of one device's at that time."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Trials of one stage."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Tables:
    """All trials."""

    measured: tuple[Group, ...]
    pruned: tuple[Row, ...]
    failed: tuple[Row, ...]
    skipped: tuple[Row, ...]


def tables(trials: Iterable[Trial], board: Leaderboard) -> Tables:
    """Return the tables of some trials."""
    found = tuple(trials)
    measured = [each for each in found if each.measured]
    return Tables(
        measured=tuple(
            Group(title=STAGES[stage], rows=tuple(_row(each, board) for each in group))
            for stage, group in groupby(measured, key=lambda each: each.stage)
        ),
        pruned=_rows(found, (Outcome.PRUNED,), board),
        failed=_rows(found, FAILURES, board),
        skipped=_rows(found, (Outcome.SKIPPED,), board),
    )


def _rows(
    trials: Iterable[Trial], outcomes: tuple[Outcome, ...], board: Leaderboard
) -> tuple[Row, ...]:
    return tuple(_row(each, board) for each in trials if each.outcome in outcomes)


def _row(trial: Trial, board: Leaderboard) -> Row:
    share = board.speedup_of(trial)
    return Row(
        number=trial.number,
        configuration=in_short(trial.configuration),
        outcome=trial.outcome,
        rate=rate(trial.examples_per_second) if trial.examples_per_second else "",
        share="" if share is None else f"{share:.2f}",
        reason=sentence(reason_text(trial.reason)),
    )
