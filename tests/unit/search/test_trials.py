"""What a configuration's run has to pass before its rate is that of later epochs."""

import math
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.engine.tasks import Fill
from autotune.search.setup import Subject
from autotune.search.trials import epoch_of, fill_of
from autotune.workload import InputPass
from tests.engines.contract import PROBE
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine

from .conftest import Tuner, speed

BATCH = 100
ONE = Configuration(per_replica_batch=BATCH)
CACHED = ONE.model_copy(update={"cache": "memory"})


def subject(**facts: Any) -> Subject:
    known = FAKE_FACTS.model_copy(update=facts)
    return Subject(workload=PROBE, facts=known, machine=FAKE_MACHINE)


def read(examples: int, seconds: float, *, pause: float = 0.0) -> InputPass:
    return InputPass(examples=examples, seconds=seconds, whole=examples >= 10_000, pause=pause)


def test_nothing_is_filled_where_nothing_is_cached() -> None:
    """Without a cache, of the program's or of the factory's own, a training starts at once.

    Nor is one that nobody could fill: an unknown number of examples has no end.
    """
    assert fill_of(ONE, subject()) is None
    assert fill_of(CACHED, subject()) is not None
    assert fill_of(ONE, subject(cached=True)) is not None
    endless = subject(examples=None, cached=True)
    assert fill_of(ONE, endless) is None
    assert math.isinf(epoch_of(ONE, endless).steps)


@pytest.mark.parametrize(
    ("changes", "facts", "fill"),
    [
        ({}, {"first_pass": read(10_000, 4.0)}, Fill(examples=10_000, seconds=6.0)),
        ({}, {"first_pass": read(1000, 2.0)}, Fill(examples=1500, whole=False, seconds=6.0)),
        ({}, {"first_pass": read(10, 2.0)}, Fill(examples=BATCH, whole=False, seconds=6.0)),
        (
            {"strategy": "multi_worker_mirrored", "workers": 2, "shard_policy": "source"},
            {},
            Fill(examples=5000, seconds=6.0),
        ),
    ],
    ids=["quick", "slow", "very slow", "sharded by the factory"],
)
def test_a_cache_is_filled_within_seconds(
    changes: dict[str, Any], facts: dict[str, Any], fill: Fill
) -> None:
    """With all examples, or as many as can be read in the time, a batch of them at least.

    Of a factory that shards by itself each worker's cache holds a share of them.
    """
    assert fill_of(CACHED.model_copy(update=changes), subject(**facts)) == fill


def test_a_cache_that_workers_fill_meanwhile_takes_an_epoch() -> None:
    """Where a coordinator sends the workers their input, the first epoch does not count.

    Nor do the steps whose examples are prefetched, by the factory or the program.
    """
    apart = CACHED.model_copy(update={"strategy": "parameter_server", "workers": 2})
    assert fill_of(apart, subject()) is None
    assert epoch_of(apart, subject()).ready == pytest.approx(10_000 / 200)
    assert epoch_of(CACHED, subject()).ready == 0
    prefetching = epoch_of(ONE.model_copy(update={"prefetch": 2}), subject(prefetched=500))
    assert prefetching.ready == pytest.approx(500 / BATCH + 2)


def test_what_is_promised_reaches_down_to_what_was_not_seen(tuner: Tuner) -> None:
    """An epoch of minutes whose input waits ten seconds at its end may sustain that much less."""
    first = read(1000, 2.0, pause=10.0)
    facts = FAKE_FACTS.model_copy(update={"examples": 5_000_000, "first_pass": first})
    engine = FakeEngine(speed(), facts=facts)
    result = tuner(speed(), engine=engine, options={"budget": 60.0})
    runs = [t for t in result.trials if t.measured and t.configuration == result.config]
    least = min(trial.least for trial in runs)
    assert 0.5 < least < 0.95
    assert result.examples_per_second.low < result.examples_per_second.value * least


def test_lengths_that_vary_are_told(tuner: Tuner) -> None:
    """By one line of the report, where a dimension of an example is not fixed."""
    words = "TensorSpec(shape=({},), dtype=tf.int32, name=None)"
    results = (
        tuner(speed(), engine=FakeEngine(speed(), facts=facts), options={"budget": 60.0})
        for facts in (FAKE_FACTS.model_copy(update={"element": words.format(n)}) for n in (8, None))
    )
    told = [sum("no fixed length" in reason for reason in each.reasons) for each in results]
    assert told == [0, 1]
