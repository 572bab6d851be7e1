"""Which configurations are looked at first."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.design import (
    groups,
    nearest,
    one_factor_at_a_time,
    one_of_each_strategy,
)
from autotune.space import candidates
from autotune.testing import FAKE_FACTS, FAKE_MACHINE

from .conftest import SPACE

FOUND = candidates(SPACE, FAKE_MACHINE, FAKE_FACTS, SearchOptions())


def test_the_default_comes_first() -> None:
    """The search begins with what Keras does by itself."""
    assert nearest(Configuration(), FOUND.one_device) == Configuration()
    assert next(one_factor_at_a_time(Configuration(), FOUND.one_device)) == Configuration()


def test_each_value_of_each_axis_is_seen_alone() -> None:
    """Until something works, the trials after the default differ from it in one axis."""
    _, *rest = one_factor_at_a_time(Configuration(), FOUND.one_device)
    assert rest == [Configuration(per_replica_batch=128), Configuration(steps_per_execution=8)]


def test_distribution_starts_from_the_best_single_device() -> None:
    """Each strategy is first tried as the baseline is fed."""
    found = one_of_each_strategy(Configuration(per_replica_batch=128), FOUND.distributed)
    assert [c.strategy for c in found] == ["mirrored", "multi_worker_mirrored"]
    assert {c.per_replica_batch for c in found} == {128}


def test_groups_of_axes_are_raised_together() -> None:
    """Batch and steps per call go together, then parallel calls with threads and without."""
    pool = [
        Configuration(
            num_parallel_calls=calls, private_threadpool_size=threads, per_replica_batch=batch
        )
        for calls in ("auto", 16)
        for threads in (0, 16)
        for batch in (32, 128)
    ]
    stepped, both, without_threads = groups(Configuration(), pool)
    assert stepped == Configuration(per_replica_batch=128)
    assert both == stepped.but(num_parallel_calls=16, private_threadpool_size=16)
    assert without_threads == stepped.but(num_parallel_calls=16)


def test_a_cache_comes_with_the_first_group() -> None:
    """Where the input is the limit nothing else matters, and a short search sees no second one."""
    pool = [
        Configuration(cache=cache, per_replica_batch=batch)
        for cache in ("off", "memory")
        for batch in (32, 128)
    ]
    assert groups(Configuration(), pool)[0] == Configuration(cache="memory", per_replica_batch=128)


def test_nearest_prefers_few_differences() -> None:
    """One axis far away is nearer than two axes close by."""
    target = Configuration(per_replica_batch=32)
    far = Configuration(per_replica_batch=1024)
    near = Configuration(per_replica_batch=64, steps_per_execution=8)
    assert nearest(target, [near, far]) == far


def test_the_largest_batch_comes_before_the_most_steps_of_a_call() -> None:
    """Where both together would take too long, the first group is an extreme of the batch."""
    pool = [
        Configuration(per_replica_batch=batch, steps_per_execution=steps)
        for batch, steps in ((32, 1), (32, 32), (128, 32), (512, 1), (512, 8))
    ]
    first, *_ = groups(Configuration(), pool)
    assert (first.per_replica_batch, first.steps_per_execution) == (512, 8)
