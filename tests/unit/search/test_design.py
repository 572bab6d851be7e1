"""Which configurations are looked at first."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.design import groups, one_of_each_strategy
from autotune.space import candidates
from autotune.testing import FAKE_FACTS, FAKE_MACHINE

from .conftest import SPACE

FOUND = candidates(SPACE, FAKE_MACHINE, FAKE_FACTS, SearchOptions())


def test_distribution_starts_from_the_best_single_device() -> None:
    found = one_of_each_strategy(Configuration(per_replica_batch=128), FOUND.distributed)
    assert [c.strategy for c in found] == ["mirrored", "multi_worker_mirrored"]
    assert {c.per_replica_batch for c in found} == {128}


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (
            [
                Configuration(cache=cache, per_replica_batch=batch)
                for cache in ("off", "memory")
                for batch in (32, 128)
            ],
            Configuration(cache="memory", per_replica_batch=128),
        ),
        (
            [
                Configuration(per_replica_batch=batch, steps_per_execution=steps)
                for batch, steps in ((32, 1), (32, 32), (128, 32), (512, 1), (512, 8))
            ],
            Configuration(per_replica_batch=512, steps_per_execution=8),
        ),
    ],
    ids=["a cache", "the largest batch"],
)
def test_what_tells_most_comes_with_the_first_group(
    pool: list[Configuration], expected: Configuration
) -> None:
    assert groups(Configuration(), pool)[0] == expected
