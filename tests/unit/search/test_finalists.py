"""How long a decision takes, and who may take part in it."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.reason import Measured, Outcome
from autotune.search.finalists import Finalists, finals_seconds, fitting
from autotune.search.history import History
from autotune.trial import Stage, Trial

ALONE = Configuration()
FIRST = Configuration(strategy="mirrored", replicas_per_worker=2)
SECOND = Configuration(strategy="multi_worker_mirrored", workers=2)
RATES = {ALONE: 1000.0, FIRST: 1100.0, SECOND: 1090.0}
HISTORY = History(
    [
        Trial(
            number=number,
            stage=Stage.EXPLORE if each.distributed else Stage.BASELINE,
            configuration=each,
            outcome=Outcome.MEASURED,
            reason=Measured(),
            examples_per_second=rate,
            wall_seconds=5.0,
        )
        for number, (each, rate) in enumerate(RATES.items())
    ]
)
TWO = Finalists(one_device=(ALONE,), challengers=(FIRST,), default=None)
THREE = Finalists(one_device=(ALONE,), challengers=(FIRST, SECOND), default=None)


def test_time_is_set_aside_for_the_first_two() -> None:
    """A second challenger costs exploring nothing: it takes part if there is time for it."""
    needed = finals_seconds(HISTORY, THREE)
    assert needed == finals_seconds(HISTORY, TWO) > 0
    assert fitting(THREE, HISTORY, needed) == TWO
    assert fitting(THREE, HISTORY, 1000.0) == THREE
