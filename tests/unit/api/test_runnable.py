"""Whether a space can run on a machine at all."""

from __future__ import annotations

import pytest

from autotune.api.errors import InvalidSpace, SpaceNotRunnable
from autotune.api.runnable import check_runnable
from autotune.options import SearchOptions
from autotune.space import AUTO, Space, ready_made
from autotune.testing import FAKE_MACHINE

FREE = SearchOptions()


@pytest.mark.parametrize("space", [AUTO, "quick", "cpu", Space(strategies=("one_device",))])
def test_what_runs_here_passes(space: str | Space) -> None:
    """A machine without accelerators runs the spaces that are made for it."""
    check_runnable(space, FREE, FAKE_MACHINE)


CORES = Space(strategies=("one_device", "tpu"), axes={"replicas_per_worker": (2,)})


@pytest.mark.parametrize("space", ["tpu", CORES])
def test_what_needs_other_devices_is_refused(space: str | Space) -> None:
    """A job would wait for its turn only to measure one device; the rule is told."""
    with pytest.raises(SpaceNotRunnable, match="TPU"):
        check_runnable(space, FREE, FAKE_MACHINE)


def test_what_runs_on_one_device_may_be_all_that_is_asked_for() -> None:
    """With constraints that leave nothing else, that is no mistake."""
    check_runnable("tpu", SearchOptions(strategies=("one_device",)), FAKE_MACHINE)


def test_a_batch_that_does_not_divide_is_left_to_the_search() -> None:
    """It is nothing that the machine cannot do."""
    check_runnable("quick", SearchOptions(global_batch=33), FAKE_MACHINE)


def test_a_strategy_that_the_space_does_not_hold_is_refused() -> None:
    """The text names those that it holds."""
    with pytest.raises(InvalidSpace, match="one_device"):
        check_runnable("quick", SearchOptions(strategies=("tpu",)), FAKE_MACHINE)


def test_a_space_that_takes_long_to_look_at_is_refused() -> None:
    """A request must not keep the service busy."""
    many = tuple(range(1, 65))
    axes = {"workers": many, "replicas_per_worker": many, "reduction": ("default", "ring")}
    space = Space(strategies=("multi_worker_mirrored",), axes=axes)
    with pytest.raises(InvalidSpace, match="ways to distribute"):
        check_runnable(space, FREE, FAKE_MACHINE)


def test_a_space_with_too_many_settings_is_refused() -> None:
    """The search could not list them either."""
    many = tuple(range(1, 65))
    names = ("per_replica_batch", "steps_per_execution", "prefetch")
    space = Space(strategies=("one_device",), axes=dict.fromkeys(names, many))
    with pytest.raises(InvalidSpace, match="combinations"):
        check_runnable(space, FREE, FAKE_MACHINE)


@pytest.mark.parametrize("name", ["cpu", "quick", "multi_worker"])
def test_ready_made_spaces_are_quick_to_look_at(name: str) -> None:
    """None is refused for its size."""
    assert name in ready_made()
    check_runnable(name, FREE, FAKE_MACHINE)


def test_an_asynchronous_space_runs_only_where_that_is_allowed() -> None:
    """Otherwise a job would measure one device only; the text says what to ask for."""
    axes = {"workers": (2,), "servers": (1,), "shard_policy": ("data",)}
    space = Space(strategies=("one_device", "parameter_server"), axes=axes)
    with pytest.raises(SpaceNotRunnable, match="allow_asynchronous"):
        check_runnable(space, FREE, FAKE_MACHINE)
    check_runnable(space, SearchOptions(allow_asynchronous=True), FAKE_MACHINE)
