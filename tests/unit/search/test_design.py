"""Which configurations are looked at first."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.search.design import default_in, nearest, one_factor_at_a_time, transfers
from autotune.space import Constraints, candidates
from autotune.testing import FAKE_FACTS, FAKE_MACHINE

from .conftest import SPACE

FOUND = candidates(SPACE, FAKE_MACHINE, FAKE_FACTS, Constraints())


def test_the_default_comes_first() -> None:
    """The search begins with what Keras does by itself."""
    assert default_in(FOUND.one_device) == Configuration()
    assert one_factor_at_a_time(Configuration(), FOUND.one_device)[0] == Configuration()


def test_each_value_of_each_axis_is_seen_alone() -> None:
    """Until something works, the trials after the default differ from it in one axis."""
    rest = one_factor_at_a_time(Configuration(), FOUND.one_device)[1:]
    assert rest == [Configuration(per_replica_batch=128), Configuration(steps_per_execution=8)]


def test_distribution_starts_from_the_best_single_device() -> None:
    """Each way of distributing is first tried as the yardstick is fed; strategies take turns."""
    found = transfers(Configuration(per_replica_batch=128), FOUND.distributed)
    assert {c.strategy for c in found[:2]} == {"mirrored", "multi_worker_mirrored"}
    assert {c.per_replica_batch for c in found[:2]} == {128}


def test_nearest_prefers_few_differences() -> None:
    """One axis far away is nearer than two axes close by."""
    target = Configuration(per_replica_batch=32)
    far = Configuration(per_replica_batch=1024)
    near = Configuration(per_replica_batch=64, steps_per_execution=8)
    assert nearest(target, [near, far]) == far
