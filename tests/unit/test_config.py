"""The configuration and the declarations of its axes."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from autotune.config import Configuration, accepts, axes, default_of, describe
from autotune.roles import Role, tf_config
from autotune.strategies import strategies


def test_every_field_but_the_users_own_is_an_axis() -> None:
    """The configuration is the one declaration: each field says where it lands."""
    assert set(axes()) == set(Configuration.model_fields) - {"arguments"}
    assert all(axis.landing for axis in axes().values())


@pytest.mark.parametrize("name", list(Configuration.model_fields))
def test_every_axis_is_documented_in_a_sentence(name: str) -> None:
    assert describe(name)[0].isupper()
    assert describe(name).endswith(".")


def test_every_axis_belongs_to_some_strategy() -> None:
    """An axis that no strategy has could never be searched."""
    assert all(any(each.has(name) for each in strategies().values()) for name in axes())


@pytest.mark.parametrize("name", list(axes()))
def test_defaults_are_values(name: str) -> None:
    """What happens when nobody sets an axis is itself one of its values."""
    assert accepts(name, default_of(name)) is None


def test_a_configuration_is_frozen_and_hashable() -> None:
    """Parts can hand it on without fear, and what is changed is validated."""
    configuration = Configuration()
    with pytest.raises(ValidationError):
        configuration.but(per_replica_batch=0)
    assert hash(configuration.but(xla=True)) == hash(Configuration(xla=True))
    with pytest.raises(ValidationError):
        configuration.xla = True  # type: ignore[misc]


def test_the_global_batch_counts_all_replicas() -> None:
    configuration = Configuration(workers=2, replicas_per_worker=2, per_replica_batch=8)
    assert (configuration.replicas, configuration.global_batch) == (4, 32)
    served = configuration.but(servers=1)  # One more gives the orders then.
    assert (configuration.processes, served.processes, served.replicas) == (2, 4, 4)


def test_tf_config_lists_the_processes_by_kind() -> None:
    """A parameter server finds the chief and the workers under their names."""
    roles = [Role(kind="chief"), Role(index=0), Role(index=1), Role(kind="ps")]
    text = tf_config(roles, ["a:1", "a:2", "a:3", "a:4"], roles[3])
    assert json.loads(text) == {
        "cluster": {"chief": ["a:1"], "worker": ["a:2", "a:3"], "ps": ["a:4"]},
        "task": {"type": "ps", "index": 0},
    }
