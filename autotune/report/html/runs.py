"""Every trial, a row each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autotune.leaderboard import Leaderboard
from autotune.report.words import in_short, rate_with_error
from autotune.trial import Stage, Trial

_STAGES = {Stage.BASELINE: "one device", Stage.EXPLORE: "distributed", Stage.FINAL: "finals"}


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trial."""

    number: int
    stage: str
    configuration: str
    outcome: str
    rate: str
    share: str
    seconds: str


def runs(trials: Iterable[Trial], board: Leaderboard) -> tuple[Run, ...]:
    """Return the rows of some trials."""
    return tuple(_run(each, board) for each in trials)


def _run(trial: Trial, board: Leaderboard) -> Run:
    rate, share = board.rate_of(trial), board.speedup_of(trial)
    return Run(
        number=trial.number,
        stage=_STAGES[trial.stage],
        configuration=in_short(trial.configuration),
        outcome=trial.outcome,
        rate=rate_with_error(rate) if rate else "\N{EN DASH}",
        share="\N{EN DASH}" if share is None else f"{share:.2f}",
        seconds=f"{trial.wall_seconds:.1f}",
    )
