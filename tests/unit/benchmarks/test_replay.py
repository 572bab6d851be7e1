"""Searches on recorded machines: a search that gets worse shows here, at any speed of this one."""

from pathlib import Path
from statistics import median

import pytest

from autotune.answer import Verdict
from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.reason import Outcome
from autotune.shared_values import Window
from autotune.workload import WorkloadFacts
from benchmarks.pays.cases import Case, Scenario
from benchmarks.pays.searches import Found, judged
from benchmarks.replay import table as tables
from benchmarks.replay.characters import CHARACTERS
from benchmarks.replay.table import FOLDER, Run, Table
from benchmarks.replay.world import world_of

TABLES = {path.name.removesuffix(".json.xz") for path in FOLDER.glob("*.xz")}
RECORDED = [c.name for c in CHARACTERS if c.name in TABLES and not c.unseen]
SOME = RECORDED[2::6]
"""A few tables, because the benchmark scores all of them."""
HOUR = 3600.0
WORLDS = [(name, world_of(tables.read(FOLDER / f"{name}.json.xz"))) for name in SOME]


def run_at(rate: float, turn: int, configuration: Configuration | None = None) -> Run:
    return Run(
        configuration=configuration or Configuration(),
        turn=turn,
        outcome=Outcome.MEASURED,
        reason="throughput measured",
        start_seconds=0.5,
        first_step_seconds=0.5,
        wall_seconds=4.0,
        windows=(Window(int(rate / 10), 0.1),) * 30,
    )


def table_of(*runs: Run) -> Table:
    return Table(
        name="made_up",
        what="nothing",
        made="2026-01-01",
        machine=Machine(hosts=(Host(cpus=2, memory=2**30, processor="none"),)),
        facts=WorkloadFacts(),
        runs=runs,
    )


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Nothing is lost in the compact file, up to a microsecond, ends of epochs included."""
    ended = run_at(110, 1).model_copy(update={"windows": (Window(9, 0.1), Window(9, 0.2, ends=1))})
    table = table_of(run_at(100, 0), ended)
    assert tables.read(tables.write(table, tmp_path)) == table


def test_the_truth_is_the_mean_of_all_runs() -> None:
    """A configuration's true rate is the geometric mean of its runs, whose scatter is kept."""
    world = world_of(table_of(*(run_at(rate, turn) for turn, rate in enumerate([100, 200, 400]))))
    assert world.rates[Configuration()] == pytest.approx(200 * 32)
    assert world.noise == pytest.approx(0.693, abs=0.01)


def test_a_run_that_would_settle_by_now_was_measured() -> None:
    """What was recorded as unsteady counts where its windows are steady by the rules of today."""
    changing = tuple(Window(10, 0.1 * 1.08**i) for i in range(28))
    again = [
        run_at(100, 0).model_copy(update={"outcome": Outcome.UNSTABLE}),
        run_at(100, 1).model_copy(update={"outcome": Outcome.UNSTABLE, "windows": changing}),
        run_at(100, 2).model_copy(update={"outcome": Outcome.FAILED}),
    ]
    table = table_of(*again)
    assert [table.measured(run) for run in again] == [True, False, False]
    assert world_of(table).rates[Configuration()] == pytest.approx(100 * 32)


def test_a_world_can_be_given_any_gain() -> None:
    """The best distributed configuration is moved to a gain, the rest along with it."""
    two = Configuration(strategy="mirrored", replicas_per_worker=2)
    world = world_of(table_of(run_at(100, 0), run_at(90, 0, two))).with_gain(0.1)
    assert world.best_of(distributed=True) == pytest.approx(1.1 * world.best_of(distributed=False))


def test_every_table_can_be_recorded_again() -> None:
    """Each has its workload and space."""
    assert {c.name for c in CHARACTERS} == TABLES


def found(name: str, training: float, gain: float | None = None) -> Found:
    scenario = Scenario(name="changed", gain=gain)
    return judged(Case(table=name, scenario=scenario), training, 0)


def test_long_trainings_come_close_to_the_best() -> None:
    """Most searches for a training of four hours are within 5 % of the best."""
    shares = [world.rates[found(name, 4 * HOUR).recommended] / world.best for name, world in WORLDS]
    assert median(shares) >= 0.95


def test_equal_worlds_are_not_distributed() -> None:
    verdicts = [found(name, HOUR, gain=0.0).verdict for name in SOME]
    assert Verdict.DISTRIBUTE not in verdicts


def test_a_large_gain_is_found() -> None:
    assert {found(name, 12 * HOUR, gain=0.5).verdict for name in SOME} == {Verdict.DISTRIBUTE}


def test_a_training_of_a_second_is_not_searched_for() -> None:
    assert {found(name, 1.0).trials for name in SOME} == {0}
