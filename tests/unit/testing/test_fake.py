"""The fake engine keeps the contract of all engines, without any process."""

from __future__ import annotations

import math
from pathlib import Path

from autotune.cluster import Role
from autotune.config import Configuration
from autotune.reason import Message
from autotune.run.engine import Outcome, Stop, TrialRequest
from autotune.testing import Ending, FakeEngine, table
from autotune.testing.contract import Behaviour, EngineContract
from autotune.workload import Factory, Workload

UNUSED = Factory(name="unused", module="unused")
ENDINGS = {
    Behaviour.FAILED: Outcome.FAILED,
    Behaviour.NAN: Outcome.FAILED,
    Behaviour.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
    Behaviour.HUNG: Outcome.HUNG,
    Behaviour.CRASHED: Outcome.CRASHED,
}
# Each behaviour is asked for by a configuration of its own.
BATCHES = {behaviour: 8 + number for number, behaviour in enumerate(Behaviour)}


def speed(configuration: Configuration) -> float | Ending:
    """Return how the trial ends whose batch stands for a bad end, and a speed for the others."""
    behaviour = next(b for b, batch in BATCHES.items() if batch == configuration.per_replica_batch)
    if behaviour in ENDINGS:
        return Ending(outcome=ENDINGS[behaviour], reason=Message(text="It was told to."))
    return 1000.0


class TestFakeEngine(EngineContract):
    """Run the contract's tests on the virtual clock."""

    @classmethod
    def new_engine(cls) -> FakeEngine:
        """Return an engine that obeys the formula above."""
        return FakeEngine(speed)

    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        """Return a request whose configuration stands for the behaviour."""
        return TrialRequest(
            configuration=Configuration(per_replica_batch=BATCHES[behaviour]),
            script="",
            workload=Workload(model=UNUSED, dataset=UNUSED),
            roles=(Role(), Role(index=1)) if behaviour is Behaviour.GANG else (Role(),),
            folder=folder,
        )


def test_a_table_gives_the_speeds_that_it_holds(tmp_path: Path) -> None:
    """A recorded configuration runs at its speed; another one has failed, with the reason."""
    engine = FakeEngine(table({Configuration(): 320.0}), between=0, within=0)
    made = TestFakeEngine().make_request(Behaviour.MEASURED, tmp_path / "one")
    assert engine.run(made, lambda _: None).reason == Message(text="not in the table")


def test_noise_is_as_large_as_it_was_told(tmp_path: Path) -> None:
    """Fresh runs of one configuration scatter by the standard deviation between runs."""
    engine = FakeEngine(lambda _: 100.0, between=0.2, within=0.0)
    logs = [math.log(_rate(engine, tmp_path / str(n))) for n in range(200)]
    mean = sum(logs) / len(logs)
    assert 0.15 < math.sqrt(sum((each - mean) ** 2 for each in logs) / len(logs)) < 0.25


def _rate(engine: FakeEngine, folder: Path) -> float:
    request = TestFakeEngine().make_request(Behaviour.MEASURED, folder)
    window = engine.run(request, lambda _: Stop(Outcome.MEASURED, Message(text="enough"))).windows[
        0
    ]
    return window.steps / window.seconds
