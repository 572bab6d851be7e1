"""Where the time goes, found out with what is left of the budget."""

from itertools import count

import pytest

from autotune.checks.breakdown import Part
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.machine import Machine
from autotune.reason import Message, Outcome
from autotune.result import Result, Verdict
from tests.engines.fake import FAKE_FACTS, FakeEngine, fake_machine

from .conftest import Tuner, speed

LONG = {"budget": 600.0, "train_for": "12h"}


def half_is_input(*, distributed: float) -> FakeEngine:
    """An engine on which every step waits half of its time for input."""
    truth = speed(distributed=distributed)
    return FakeEngine(truth, held=lambda c: 2 * truth(c), between=0.02)


def test_the_limit_is_named_with_its_share(tuner: Tuner) -> None:
    """An input that takes half of the step is the limit, and the remedy is told.

    The challenger is taken apart although it lost: why is most wanted there. All of it survives
    JSON, infinities included.
    """
    engine = half_is_input(distributed=0.5)
    result = tuner(speed(), engine=engine, options={"budget": 300.0})
    assert 0.4 < result.diagnosis.one_device.share(Part.INPUT) < 0.6
    assert any("waiting for input" in each for each in result.reasons)
    assert any("Most promising: " in each for each in result.reasons)
    assert result.diagnosis.distributed.configuration.distributed
    assert Result.model_validate_json(result.model_dump_json()).diagnosis == result.diagnosis


def test_a_slow_generator_is_told(tuner: Tuner) -> None:
    """Where Python code makes an example in 10 ms, the input is the limit."""

    def slow(configuration: Configuration) -> float:
        return 95.0 if configuration.distributed else 100.0

    engine = FakeEngine(
        slow,
        held=lambda c: 20_000.0 * c.global_batch**0.3,
        between=0.02,
        facts=FAKE_FACTS.model_copy(update={"python_input": True}),
    )
    result = tuner(slow, engine=engine, options={"train_for": "12h", "profile": True})
    assert not result.config.distributed
    limit = next(each for each in result.reasons if "input-bound, at about" in each)
    assert 9 < float(limit.partition("at about ")[2].split()[0]) < 11


def test_a_sequential_model_is_told(tuner: Tuner) -> None:
    def chain(configuration: Configuration) -> float:
        return configuration.global_batch / (0.02 * configuration.replicas**1.5)

    options = {"train_for": "12h", "global_batch": 64, "profile": True}
    result = tuner(chain, noise=0.01, options=options)
    assert any(each.startswith("A step of one device") for each in result.reasons)


def exchanging(
    *,
    drift: float = 0.0,
    taken: Stop | None = None,
    machine: Machine | None = None,
    bandwidth: float | None = None,
) -> FakeEngine:
    """An engine on which a quarter of each distributed step goes into the exchange.

    Each run of the profile is slower than the one before by `drift`; one without an exchange ends
    as it is `taken`, or is as much faster.
    """
    rates, runs = speed(distributed=0.6), count()

    def rate(configuration: Configuration) -> float:
        return rates(configuration) * (1 - drift) ** (next(runs) if begun else 0)

    def held(configuration: Configuration) -> float:
        begun.append(configuration)
        return rate(configuration)

    def apart(configuration: Configuration) -> float | Stop:
        return taken or rate(configuration) / 0.75

    begun: list[Configuration] = []
    facts = FAKE_FACTS.model_copy(update={"dense_gradient_bytes": FAKE_FACTS.gradient_bytes})
    return FakeEngine(
        rate,
        held=held,
        apart=apart,
        between=0.02,
        facts=facts,
        machine=machine,
        bandwidth=bandwidth,
    )


def test_more_hosts_are_predicted_and_win_nothing(tuner: Tuner) -> None:
    """Of three hosts, whose worker groups lose, the report tells what four and more would bring."""
    engine = exchanging(machine=fake_machine(hosts=3, cpus=1))
    result = tuner(speed(), engine=engine, options={"train_for": "12h", "profile": True})
    assert [each.hosts for each in result.diagnosis.predicted] == [4, 8, 16, 32, 64]
    [told] = [each for each in result.reasons if "64 hosts" in each]
    assert told.startswith("Predicted, not measured")
    assert result.verdict is Verdict.ONE_DEVICE


def test_a_network_that_is_quick_leaves_latency_which_grows_with_hosts(tuner: Tuner) -> None:
    def seconds(bandwidth: float | None) -> float:
        engine = exchanging(machine=fake_machine(hosts=2, cpus=1), bandwidth=bandwidth)
        options = {"train_for": "12h", "profile": True}
        diagnosis = tuner(speed(), engine=engine, options=options).diagnosis
        return diagnosis.predicted[-1].seconds.value

    assert seconds(bandwidth=1e12) > 2 * seconds(bandwidth=None)


def test_each_experiment_is_made_once(tuner: Tuner) -> None:
    """One device and its rival, the most telling first: whoever has an answer waits for no more.

    Nothing is predicted from workers that share a host: what they take from each other says nothing
    of hosts of their own.
    """
    engine = exchanging()
    result = tuner(speed(), engine=engine, options=LONG)
    begin = next(i for i, each in enumerate(engine.requests) if each.held) - 1
    profiled = engine.requests[begin:]
    made = [(r.held, r.exchanges, r.configuration.distributed) for r in profiled]
    first = [
        (False, True, False),
        (True, True, False),
        (False, True, True),
        (True, True, True),
        (True, False, True),
        (True, True, False),
    ]
    assert made[:6] == first
    assert first[0] not in made[6:]
    assert result.seconds < LONG["budget"] / 2
    assert result.diagnosis.distributed is not None
    assert not result.diagnosis.predicted


def test_what_the_exchange_adds_is_measured(tuner: Tuner) -> None:
    """It is what the same replicas save without it, on a machine that slows down as well."""
    result = tuner(speed(), engine=exchanging(drift=0.01), options=LONG)
    found = result.diagnosis.distributed
    [share] = [each.share for each in found.shares if each.part is Part.EXCHANGE]
    assert share.low < 0.25 < share.high
    assert found.share(Part.EXCHANGE) == pytest.approx(0.25, abs=0.05)
    assert abs(found.share(Part.INPUT)) < 0.05


def test_an_engine_that_cannot_take_the_exchange_away_leaves_it_unexplained(tuner: Tuner) -> None:
    """Nothing is guessed where the run fails, and it is not tried again."""
    failed = Stop(outcome=Outcome.FAILED, reason=Message(text="Keras has changed"))
    engine = exchanging(taken=failed)
    result = tuner(speed(), engine=engine, options=LONG)
    found = result.diagnosis.distributed
    assert not found.share(Part.EXCHANGE)
    assert found.unexplained is not None
    assert sum(not request.exchanges for request in engine.requests) == 1


def test_it_can_be_left_out(tuner: Tuner) -> None:
    engine = half_is_input(distributed=0.5)
    assert tuner(speed(), engine=engine, options={"train_for": 60.0}).diagnosis is None
    assert not any(request.held for request in engine.requests)
