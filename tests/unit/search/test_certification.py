"""A distributed configuration wins only when somebody has looked whether it trains rightly."""

from unittest.mock import Mock

import pytest

from autotune import Outcome, Verdict
from autotune.checks.certify import family
from autotune.config import Configuration
from autotune.engine.tasks import Observation, ObservationRequest
from autotune.reason import Message
from autotune.result import Result
from tests.engines.fake import FakeEngine, Fault, Faults, fake_learning

from .conftest import Tuner, speed

LONG = {"budget": 400.0}


def engine(faults: Faults, distributed: float = 1.5) -> FakeEngine:
    return FakeEngine(speed(distributed=distributed), between=0.03, faults=faults)


def wrong(result: Result) -> set[str]:
    return {t.configuration.strategy for t in result.trials if t.outcome is Outcome.REJECTED}


def test_what_is_compared_trains_at_the_users_own_rate(tuner: Tuner) -> None:
    """A rate that rises would rise otherwise in a reference; the program that wins has it."""
    truth = speed(distributed=1.5)
    fake = FakeEngine(lambda c: truth(c) * c.global_batch**0.7, learning=fake_learning(1e6))
    result = tuner(truth, engine=fake, options={**LONG, "objective": "time_to_loss"})
    assert "LEARNING_RATE_FACTOR" in result.script
    assert result.certificate is not None
    assert not any("LEARNING_RATE_FACTOR" in each.trial.script for each in fake.observed)


@pytest.mark.parametrize("fault", [Fault.DRIFT, Fault.DIES])
def test_faster_but_wrong_is_out(tuner: Tuner, fault: Fault) -> None:
    result = tuner(speed(), engine=engine(lambda c: fault if c.distributed else None), options=LONG)
    assert result.verdict is Verdict.ONE_DEVICE
    assert not result.config.distributed
    assert result.certificate is None
    refused = [t for t in result.trials if t.outcome is Outcome.REJECTED]
    assert refused
    assert all(t.reason.findings for t in refused)
    assert "do not train as one device does" in result.summary


def test_the_next_one_is_tried(tuner: Tuner) -> None:
    def mirrored_is_wrong(c: Configuration) -> Fault | None:
        return Fault.DRIFT if c.strategy == "mirrored" else None

    result = tuner(speed(), engine=engine(mirrored_is_wrong), options=LONG)
    assert result.verdict is Verdict.DISTRIBUTE
    assert result.config.strategy == "multi_worker_mirrored"
    assert wrong(result) <= {"mirrored"}


def test_a_family_is_looked_into_once(tuner: Tuner) -> None:
    fake = engine(lambda _: None)
    tuner(speed(), engine=fake, options=LONG)
    looked = [family(r.trial.configuration) for r in fake.observed if r.reference_to is None]
    assert looked
    assert len(looked) == len(set(looked))


def test_what_was_found_wrong_stays_wrong(tuner: Tuner) -> None:
    faults = engine(lambda c: Fault.DRIFT if c.distributed else None)
    first = tuner(speed(), engine=faults, study="one", options=LONG)
    again = engine(lambda _: None)
    second = tuner(speed(), engine=again, study="one", resume=True, options=LONG)
    families = {family(t.configuration) for t in first.trials if t.outcome is Outcome.REJECTED}
    assert families
    assert not families & {family(r.trial.configuration) for r in again.observed}
    assert family(second.config) not in families


def test_an_interrupted_look_recommends_nothing_distributed(tuner: Tuner) -> None:
    """The user presses Ctrl-C when the first look begins."""
    fake = engine(lambda _: None)
    fake.observe = Mock(side_effect=KeyboardInterrupt)
    result = tuner(speed(), engine=fake)
    assert result.interrupted
    assert result.verdict is not Verdict.DISTRIBUTE
    assert not result.config.distributed


def test_a_look_that_the_budget_cut_short_proves_nothing(tuner: Tuner) -> None:
    """A training that dies when time is up is not called wrong, and does not win either."""

    class Slow(FakeEngine):
        def observe(self, request: ObservationRequest) -> Observation:
            del request
            self._time += 1000.0
            return Observation(failure=Message(text="It hung."), seconds=1000.0)

    engine = Slow(speed(distributed=1.5), between=0.03)
    result = tuner(speed(), engine=engine, options={"budget": 180.0})
    assert result.verdict is not Verdict.DISTRIBUTE
    assert not wrong(result)
