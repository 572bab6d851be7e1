"""What a training costs: devices times time, and both sides of a bargain."""

import re
from pathlib import Path

import pytest

from autotune.answer import Further
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.objective import COST, OBJECTIVES, Scorer, devices
from autotune.options import SearchOptions
from autotune.result import Result, Verdict
from tests.engines.fake import FAKE_FACTS, FakeEngine, fake_machine

from .conftest import Tuner, speed

GPUS = fake_machine(gpus=("A", "B"))
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=16)
WORKERS = Configuration(strategy="multi_worker_mirrored", workers=2, per_replica_batch=16)


def searched(tuner: Tuner, gain: float, machine: Machine, **options: object) -> Result:
    engine = FakeEngine(speed(distributed=gain), between=0.03, machine=machine)
    options = {"objective": "cost", "budget": 400.0, **options}
    return tuner(speed(), engine=engine, options=options)


@pytest.mark.parametrize(
    ("machine", "configuration", "count"),
    [
        (fake_machine(), Configuration(), 1),
        (fake_machine(), WORKERS, 1),
        (fake_machine(hosts=2), WORKERS, 2),
        (fake_machine(hosts=2), PAIR, 1),
        (GPUS, Configuration(), 1),
        (GPUS, PAIR, 2),
    ],
)
def test_what_is_paid_for(machine: Machine, configuration: Configuration, count: int) -> None:
    """Accelerators one by one; without them a host costs the same however it is divided."""
    assert devices(configuration, machine) == count


def test_both_sides_of_a_bargain_are_told(tuner: Tuner) -> None:
    """How much faster, and for how much more; the price tells what an epoch costs.

    2.6 times as fast on two devices is cheaper; 1.5 times as fast is dearer.
    """
    assert searched(tuner, 1.5, GPUS).verdict is Verdict.ONE_DEVICE
    result = searched(tuner, 2.6, GPUS, price=2.0)
    assert result.verdict is Verdict.DISTRIBUTE
    [told] = [each for each in result.reasons if "times the money" in each]
    cheaper = result.answer.entry(result.answer.several).ratio.value
    assert f"takes {1 / (2 * cheaper):.2f} times the time of your own settings for" in told
    assert f"for {1 / cheaper:.2f} times the money" in told
    money = next(each for each in result.reasons if each.startswith("An epoch of 10,000 "))
    assert (
        f"An epoch of 10,000 examples costs {2 * result.answer.value.value:.3g} on 2 devices: "
        in money
    )


def test_what_the_training_costs_is_told_first(tuner: Tuner) -> None:
    """With a price in its money, else in device hours; and what more search would save likewise."""
    cheaper = searched(tuner, 2.6, GPUS, train_for="10h")
    assert cheaper.config.replicas == 2
    own, new = cheaper.answer.own_seconds.value, cheaper.answer.recommended_seconds.value
    costs = f"Training costs {2 * new / 3600:.3g} instead of {own / 3600:.3g} device hours and"
    assert cheaper.summary.startswith(costs)
    priced = searched(tuner, 2.6, GPUS, train_for="10h", price=2.0)
    assert priced.summary.startswith(f"Training costs {2 * 2 * new / 3600:.3g} instead of 20 and")
    assert re.search(
        r"would be expected to save (less than )?[\d.]+ device hours\.", cheaper.summary
    )


@pytest.mark.parametrize(("objective", "count"), [("throughput", 1), ("cost", 2)])
def test_each_second_of_a_run_counts_for_its_devices(objective: str, count: int) -> None:
    scorer = Scorer(objective=OBJECTIVES[objective], facts=FAKE_FACTS, machine=GPUS)
    assert scorer.paid(PAIR) == count
    assert scorer.paid(Configuration()) == 1
    assert Further(seconds=60.0, saves=100.0, devices=count).pays == (count == 1)


def test_a_price_alone_changes_no_verdict(tuner: Tuner) -> None:
    result = searched(tuner, 1.5, GPUS, objective="throughput", price=2.0)
    assert result.verdict is Verdict.DISTRIBUTE
    assert any("examples costs " in each and "on 2 devices" in each for each in result.reasons)


def test_an_epoch_of_unknown_length_has_a_cost_too() -> None:
    """That of a million examples, so that configurations can be compared."""
    facts = FAKE_FACTS.model_copy(update={"examples": None})
    scorer = Scorer(objective=COST, facts=facts, machine=GPUS)
    score = scorer.of_rate(PAIR, 1000.0)
    assert 1 / score == pytest.approx(2 * 1_000_000 / 1000 / 3600)


def test_the_help_and_the_page_name_every_objective() -> None:
    page = (Path(__file__).parents[3] / "docs" / "learning.md").read_text("utf-8")
    told = SearchOptions.model_fields["objective"].description or ""
    assert [name for name in OBJECTIVES if name not in told or f"`{name}`" not in page] == []
