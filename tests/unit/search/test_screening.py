"""Many settings in one process, so that trials go where it pays."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.events import nobody
from autotune.options import SearchOptions
from autotune.reason import KernelKilled, Outcome
from autotune.search.findings import Findings
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.screening import affordable, process_for, walk
from autotune.search.search import Search
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.space import candidates, parse_space
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.testing.fake import Ending
from autotune.workload import Workload

SPACE = parse_space(
    {
        "name": "wide",
        "strategies": ["one_device", "mirrored"],
        "axes": {
            "per_replica_batch": [32, 64, 128, 256, 512],
            "steps_per_execution": [1, 8, 32],
            "prefetch": ["auto", 0],
            "private_threadpool_size": [0, 16],
            "replicas_per_worker": [2],
        },
    },
    where="test",
)
FOUND = candidates(SPACE, FAKE_MACHINE, FAKE_FACTS, SearchOptions())
POOL = FOUND.one_device
ALL = [*FOUND.configurations, *FOUND.batch_matched.values()]
DEFAULT = Configuration()
TRACING = 20.0
BEST = 64

Searching = Callable[[FakeEngine], Findings]


def truth(configuration: Configuration) -> float:
    """The best batch is one that no designed trial has."""
    return 5000 - 800 * abs(math.log2(configuration.per_replica_batch / BEST))


def kinds(configurations: Iterable[Configuration]) -> set[tuple[int, int]]:
    return {(c.per_replica_batch, c.steps_per_execution) for c in configurations}


@pytest.fixture
def search(workload: Workload, tmp_path: Path) -> Searching:
    """Searches on an engine whose processes take long to start."""

    def run(engine: FakeEngine) -> Findings:
        options = SearchOptions(budget=400.0)
        budget = Budget(options, engine.now, engine.now())
        subject = Subject(workload=workload, facts=FAKE_FACTS, machine=FAKE_MACHINE)
        runner = Runner(
            engine, subject, Study(pool=ALL), folder=tmp_path, budget=budget, observer=nobody
        )
        return Search(runner, budget, FOUND, options).run()

    return run


def test_what_a_process_can_change_shares_one() -> None:
    """Batch, steps per call and input need no other process; threads and strategies do."""
    shared = process_for(DEFAULT)
    assert process_for(Configuration(per_replica_batch=512, steps_per_execution=8)) == shared
    assert (
        process_for(Configuration(prefetch=0, private_threadpool_size=16, cache="memory")) == shared
    )
    assert process_for(Configuration(intra_op_parallelism_threads=1)) != shared
    mirrored = Configuration(strategy="mirrored", replicas_per_worker=2)
    assert process_for(mirrored) not in (shared, None)


def test_xla_and_worker_groups_share_none() -> None:
    """XLA needs a fixed batch, and several processes would have to walk in step."""
    assert process_for(Configuration(xla=True)) is None
    assert process_for(Configuration(strategy="multi_worker_mirrored", workers=2)) is None


def test_the_largest_step_comes_last_and_the_first_setting_again() -> None:
    """A failure of memory loses little, and a drift shows."""
    order = walk(DEFAULT, POOL, 30, random.Random(0))
    largest = [n for n, each in enumerate(order) if each.per_replica_batch == 512]
    assert largest
    assert all(each.per_replica_batch in (32, 512) for each in order[min(largest) :])
    assert order.count(DEFAULT) >= 4
    assert order[0] == DEFAULT


def test_each_kind_of_step_is_looked_at() -> None:
    """A few settings hold every batch with every number of steps per call."""
    order = walk(DEFAULT, POOL, 15, random.Random(0))
    assert kinds(order) == kinds(POOL)


def test_it_is_made_where_trials_take_long() -> None:
    """With short trials, or with time for all of them, a screening does not pay."""
    assert affordable(300.0, 24.0, 22.0, settings=60) > 20
    assert affordable(100.0, 4.0, 2.5, settings=60) == 0
    assert affordable(3000.0, 24.0, 22.0, settings=60) == 0
    assert affordable(-math.inf, 24.0, 22.0, settings=60) == 0


def test_it_leads_the_trials_to_the_best_batch(search: Searching) -> None:
    """Where a model takes twenty seconds to trace, the first that is proposed has it."""
    engine = FakeEngine(truth, start=TRACING, screening=lambda _: -0.2)
    found = search(engine)
    assert engine.screenings
    assert engine.now() < 400
    assert found.history.trials[1].configuration.per_replica_batch == BEST
    assert found.recommended.per_replica_batch == BEST


def test_its_figures_are_no_trials(search: Searching) -> None:
    """What only the screening has seen is not in the record, and cannot be recommended."""
    engine = FakeEngine(truth, start=TRACING, screening=lambda _: 1.0)
    found = search(engine)
    tried = {trial.configuration for trial in found.history.trials}
    screened = {c for s in found.history.screenings for c, _ in s.figures}
    assert screened - tried
    assert found.recommended in tried
    assert found.examples_per_second is not None
    assert found.examples_per_second.value < 1.5 * truth(found.recommended)


def test_one_that_fails_costs_itself(search: Searching) -> None:
    """What runs out of memory ends the screening, and the search goes on with what it saw."""

    def speed(configuration: Configuration) -> float | Ending:
        if configuration.per_replica_batch == 512:
            return Ending(outcome=Outcome.OUT_OF_MEMORY, reason=KernelKilled())
        return truth(configuration)

    engine = FakeEngine(speed, start=TRACING, screening=lambda _: 0.0)
    found = search(engine)
    assert found.history.screenings
    assert found.recommended.per_replica_batch == BEST
