"""What is said of a step on the real engine, against programs whose truth is known.

Sleeps are lower bounds and shares are of one run, so that a busy machine changes nothing.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.checks.breakdown import Breakdown, Part, breakdown, telling, variant
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.options import SearchOptions
from autotune.search.profiling import seconds_of_step
from autotune.search.runner import Runner
from autotune.search.setup import Subject
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.stats.intervals import EXPECTED
from autotune.workload import Workload, WorkloadFacts, factory_from_text

pytestmark = pytest.mark.real

TRUTHS = Path(__file__).with_name("truths.py")
BATCH = 8
ALONE = Configuration(per_replica_batch=BATCH)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=BATCH, shard_policy="data"
)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=BATCH)

TakeApart = Callable[..., Breakdown]


@pytest.fixture
def take_apart(engine: LocalEngine, tmp_path: Path) -> TakeApart:
    def take_apart(
        configuration: Configuration, dataset: str = "dataset_fn", **values: float
    ) -> Breakdown:
        model = {name: values.pop(name) for name in ("sleep", "numbers") if name in values}
        workload = Workload(
            model=factory_from_text(f"{TRUTHS}:model_fn", model),
            dataset=factory_from_text(f"{TRUTHS}:{dataset}", values),
        )
        facts = WorkloadFacts(examples=2048)
        runner = Runner(
            engine,
            Subject(workload=workload, facts=facts, machine=engine.machine()),
            Study(),
            folder=tmp_path,
            budget=Budget(SearchOptions(budget=None), engine.now, engine.now()),
            observer=lambda _: None,
        )
        made = {}
        for each in telling(configuration):
            what = variant(configuration, each)
            result = runner.without_trial(
                what.configuration, held=what.held, exchanges=what.exchanges
            )
            seconds = seconds_of_step(result)
            assert seconds is not None, each
            made[each] = seconds
        return breakdown(configuration, made, EXPECTED, otherwise=0.0)

    return take_apart


def test_a_paced_input_is_waited_for(take_apart: TakeApart) -> None:
    """Eight examples that come every 30 ms are a step of 240 ms, which is nothing but input.

    What a busy machine made late before a window is caught up in it, so a step may seem shorter.
    """
    found = take_apart(ALONE, dataset="paced_fn", seconds=0.03)
    assert found.milliseconds >= 0.85 * 240
    assert found.is_limit(Part.INPUT)
    assert found.share(Part.COMPUTE) < 0.4


def test_replicas_of_one_process_sleep_one_after_the_other(take_apart: TakeApart) -> None:
    """TensorFlow keeps Python calls of one function in order, so a second replica adds its own."""
    found = take_apart(MIRRORED, sleep=0.3 / BATCH)
    assert found.is_limit(Part.SHARING)
    assert found.spent(Part.COMPUTE) + found.spent(Part.SHARING) >= 600
    assert not found.is_limit(Part.EXCHANGE)
    assert not found.is_limit(Part.INPUT)


def test_a_padded_gradient_is_exchange(take_apart: TakeApart) -> None:
    """48 MB that mean next to no arithmetic are what limits a step of two workers."""
    found = take_apart(GANG, numbers=12_000_000)
    assert found.is_limit(Part.EXCHANGE)
    assert found.spent(Part.EXCHANGE) > found.spent(Part.COMPUTE)
