"""A search for something else than throughput."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import optuna
import pytest
from optuna.storages import BaseStorage

from autotune import Outcome, objective
from autotune.errors import StudyMismatch, UsageError
from autotune.objective import GROUP, Measurement, Objective, Scorer, objective_named
from autotune.testing import FAKE_FACTS

from .conftest import Tuner, speed


class CostPerEpoch(Objective):
    """Money for one pass over the data set, paid by device and hour."""

    name = "cost"
    title = "cost per epoch"
    unit = "$"
    adjective = "cheap"
    direction = "minimize"

    def __init__(self, price: float) -> None:
        self._price = price

    def value(self, measurement: Measurement) -> float | None:
        seconds = (measurement.facts.examples or 0) / measurement.examples_per_second
        return seconds / 3600 * self._price * measurement.configuration.replicas


class Broken(CostPerEpoch):
    name = "broken"

    def value(self, measurement: Measurement) -> float | None:
        del measurement
        return -1.0


COST = CostPerEpoch(price=0.4)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(objective, "_registered", dict(objective._registered))
        objective.register_objective(COST)
        objective.register_objective(Broken(price=1.0))
        yield


def test_the_result_ranks_by_the_objective(tuner: Tuner) -> None:
    """What is 1.5 times as fast on two devices stands below one device, and says by how much."""
    result = tuner(speed(distributed=1.5), options={"objective": "cost"})
    best, *_ = result.compared
    assert not best.configuration.distributed
    dear = [e.speedup.value for e in result.compared if e.configuration.distributed and e.speedup]
    assert max(dear) == pytest.approx(0.75, rel=0.2)
    assert result.value.low < result.value.value < result.value.high
    seconds = (FAKE_FACTS.examples or 0) / result.examples_per_second.value
    assert result.value.value == pytest.approx(seconds / 3600 * 0.4, rel=0.03)


def test_proofs_in_examples_per_second_are_off(tuner: Tuner) -> None:
    result = tuner(speed(distributed=0.3), options={"objective": "cost"})
    assert all(trial.outcome is not Outcome.SKIPPED for trial in result.trials)


def test_the_study_minimizes(tuner: Tuner, kept_in: BaseStorage) -> None:
    """Optuna's best trial is the cheapest, and the study is not resumed for throughput."""
    result = tuner(speed(), options={"objective": "cost"}, study="cheap")
    study = optuna.load_study(study_name="cheap", storage=kept_in)
    scorer = Scorer(objective=COST, facts=result.facts, machine=result.machine)
    costs = [scorer.value(trial) or 0 for trial in result.trials if trial.measured]
    assert study.direction is optuna.study.StudyDirection.MINIMIZE
    assert study.best_value == min(costs)
    with pytest.raises(StudyMismatch, match="objective"):
        tuner(speed(), study="cheap", resume=True)


def test_a_value_that_is_none_is_refused(tuner: Tuner) -> None:
    with pytest.raises(UsageError, match="'broken' returned -1"):
        tuner(speed(), options={"objective": "broken"})


def test_an_installed_package_adds_objectives(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("money", f"{__name__}:COST", GROUP)
    monkeypatch.setattr("autotune.installed.entry_points", lambda **_: [point])
    assert objective_named("money") is COST
