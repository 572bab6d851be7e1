"""The times that a card promises, against those of recorded runs of real processes."""

import pytest

from autotune.config import Configuration
from autotune.search.setup import nearest
from autotune.search.trials import Costs
from autotune.trial import Trial
from benchmarks.replay.table import FOLDER, Run, Table, read
from tests.trials import ended_trial

TABLES = sorted(path.name for path in FOLDER.glob("*.json.xz"))
FURTHER = {"ratings": 0.55, "denoise": 0.3, "ledger": 0.3, "molecules": 0.35}
"""Shares by which a table may be off whose input stalls, so that a mean is known later, or is made
by Python, so that several replicas wait for it."""


def as_trial(run: Run) -> Trial:
    steps = sum(window.steps for window in run.windows)
    seconds = sum(window.seconds for window in run.windows)
    return ended_trial(
        configuration=run.configuration,
        outcome=run.outcome,
        examples_per_second=steps * run.configuration.global_batch / seconds,
        windows=run.windows,
        first_step_seconds=run.first_step_seconds,
        wall_seconds=run.wall_seconds,
    )


def once(table: Table) -> list[Run]:
    return [run for run in table.trainings if run.turn == 0 and run.windows]


@pytest.mark.parametrize("name", TABLES)
def test_after_the_default_was_run_all_others_take_what_is_promised(name: str) -> None:
    """One run of one device tells within a quarter what running everything once takes."""
    within = FURTHER.get(name.partition(".")[0], 0.25)
    runs = once(read(FOLDER / name))
    alone = [r.configuration for r in runs if not r.configuration.distributed]
    default = nearest(Configuration(), alone)
    first = next(run for run in runs if run.configuration == default)
    promised = Costs([as_trial(first)]).total([run.configuration for run in runs])
    took = sum(run.wall_seconds for run in runs)
    assert promised == pytest.approx(took, rel=within)
