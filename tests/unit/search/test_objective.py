"""A search for something else than throughput."""

import optuna
import pytest
from optuna.storages import BaseStorage

from autotune.errors import StudyMismatch
from autotune.objective import COST, Scorer
from tests.engines.fake import FAKE_FACTS, FakeEngine, fake_machine

from .conftest import Tuner, speed

GPUS = fake_machine(gpus=("A", "B"))


def test_the_result_ranks_by_the_objective(tuner: Tuner) -> None:
    """What is 1.5 times as fast on two devices stands below one device, and says by how much."""
    engine = FakeEngine(speed(distributed=1.5), between=0.03, machine=GPUS)
    result = tuner(speed(), engine=engine, options={"objective": "cost", "budget": 400.0})
    best, *_ = result.answer.entries
    assert not best.configuration.distributed
    dear = [e.ratio.value for e in result.answer.entries if e.configuration.distributed]
    assert max(dear) == pytest.approx(0.75, rel=0.2)
    assert result.answer.value.low < result.answer.value.value < result.answer.value.high
    seconds = (FAKE_FACTS.examples or 0) / result.examples_per_second.value
    assert result.answer.value.value == pytest.approx(seconds / 3600, rel=0.03)


def test_the_study_minimizes(tuner: Tuner, kept_in: BaseStorage) -> None:
    """Optuna's best trial is the cheapest, and the study is not resumed for throughput."""
    result = tuner(speed(), options={"objective": "cost"}, study="cheap")
    study = optuna.load_study(study_name="cheap", storage=kept_in)
    scorer = Scorer(objective=COST, facts=result.facts, machine=result.machine)
    costs = [cost for t in result.trials if t.measured and (cost := scorer.value(t))]
    assert study.direction is optuna.study.StudyDirection.MINIMIZE
    assert study.best_value == min(costs)
    with pytest.raises(StudyMismatch, match="objective"):
        tuner(speed(), study="cheap", resume=True)
