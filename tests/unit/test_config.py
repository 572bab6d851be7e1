"""The configuration and the declarations of its axes."""

from __future__ import annotations

import pytest

from autotune.config import Configuration, accepts, axes, default_of, describe
from autotune.strategies import strategies


def test_every_field_but_the_users_own_is_an_axis() -> None:
    """Some strategy has it, and its default is one of its values."""
    assert {*axes(), "arguments"} == {*Configuration.model_fields}
    for name in axes():
        assert any(each.has(name) for each in strategies().values()), name
        assert accepts(name, default_of(name)) is None


@pytest.mark.parametrize("name", list(Configuration.model_fields))
def test_every_axis_is_documented_in_a_sentence(name: str) -> None:
    assert describe(name)[0].isupper()
    assert describe(name).endswith(".")


def test_processes_and_replicas_are_counted() -> None:
    configuration = Configuration(workers=2, replicas_per_worker=2, per_replica_batch=8)
    assert (configuration.replicas, configuration.global_batch) == (4, 32)
    served = configuration.but(servers=1)  # One more gives the orders then.
    assert (configuration.processes, served.processes, served.replicas) == (2, 4, 4)
