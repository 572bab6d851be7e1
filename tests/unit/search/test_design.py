"""Which configurations are looked at first."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.search.design import groups


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
