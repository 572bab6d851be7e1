"""What is believed after the trials so far."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.reason import Measured, Outcome
from autotune.search.belief import Learner
from autotune.search.history import History
from autotune.search.posterior import Posterior
from autotune.trial import Stage, Trial

from .conftest import SPACE, Tuner

ALONE = Configuration()
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2)


def ran(number: int, configuration: Configuration, rate: float) -> Trial:
    return Trial(
        number=number,
        stage=Stage.EXPLORE,
        configuration=configuration,
        outcome=Outcome.MEASURED,
        reason=Measured(),
        examples_per_second=rate,
        wall_seconds=5.0,
        ended_at=10.0 * number,
    )


def test_the_same_runs_say_the_same_however_often_they_are_asked() -> None:
    """Only another run changes what is believed."""
    history = History([ran(1, ALONE, 100.0), ran(2, PAIR, 110.0), ran(3, ALONE, 98.0)])
    learner = Learner(history, [ALONE, PAIR])
    first, second = (learner.learn().joint([0, 1]).means for _ in range(2))
    assert np.array_equal(first, second)
    history.add(ran(4, PAIR, 120.0))
    assert not np.array_equal(first, learner.learn().joint([0, 1]).means)


def test_runs_are_learned_once(tuner: Tuner, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proved at the end, and the table, follow from what the answer rests on."""
    learned, learn = [], Posterior.learn

    def counted(posterior: Posterior, runs: list[object]) -> None:
        learned.append(len(runs))
        learn(posterior, runs)  # type: ignore[arg-type]

    monkeypatch.setattr(Posterior, "learn", counted)
    axes = {**SPACE.axes, "steps_per_execution": (1,), "per_replica_batch": (32, 512)}
    space = SPACE.model_copy(update={"strategies": ("one_device", "mirrored"), "axes": axes})

    def truth(c: Configuration) -> float:
        return 100_000.0 if c.per_replica_batch == 512 and not c.distributed else 1_000.0

    result = tuner(truth, space=space, options={"max_global_batch": 512})
    assert any(trial.outcome is Outcome.SKIPPED for trial in result.trials)
    assert len(learned) == len({*learned})
