"""Checking a request for a job."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from autotune.api.errors import InvalidOption, InvalidSpace, InvalidTuning, SpaceNotRunnable
from autotune.api.requests import JobRequest, check_runnable, checked
from autotune.api.settings import Quotas
from autotune.api.workloads import Registry
from autotune.options import SearchOptions
from autotune.space import AUTO, Space, ready_made
from autotune.testing import FAKE_MACHINE


def test_a_request_becomes_complete(registry: Registry, asked: JobRequest) -> None:
    """What the request leaves out is filled in before the job is kept."""
    tuning = checked(asked, registry, Quotas())
    assert tuning.budget == 180
    assert tuning.params == {"colour": "grey", "filters": 32}


@pytest.mark.parametrize(
    "changes",
    [
        {"space": "/etc/passwd"},
        {"space": "spaces/mine.yaml"},
        {"budget": "2h"},
        {"budget": "1s"},
        {"workload": "examples/digits.py:model_fn"},
        {"strategies": ["magic"]},
        {"objective": "magic"},
        {"space": {"strategies": ["one_device"], "axes": {"filters": [float("nan")]}}},
        {"space": {"strategies": ["one_device"], "axes": {"filters": ["x" * 1000]}}},
    ],
)
def test_what_is_wrong_is_refused(registry: Registry, changes: dict[str, object]) -> None:
    """A request names no file, no code, and nothing beyond the bounds."""
    wrong = JobRequest.model_validate({"workload": "digits", **changes})
    with pytest.raises(InvalidTuning):
        checked(wrong, registry, Quotas())


@pytest.mark.parametrize(
    "wrong",
    [
        {"workload": ""},
        {"workload": "digits", "code": "import os"},
        {"workload": "digits", "params": {"filters": "x" * 1000}},
        {"workload": "digits", "params": {"filters": [1]}},
        {"workload": "digits", "margin": float("nan")},
        {"workload": "digits", "seed": 2**40},
        {"workload": "digits", "allow_asynchronous": 1},
        {"workload": "digits", "budget": "soon"},
        {"workload": "digits", "budget": "\u0663min"},
        {"workload": "digits", "workers": []},
        {"workload": "digits", "workers": list(range(1, 100))},
    ],
)
def test_what_is_malformed_is_refused(wrong: dict[str, object]) -> None:
    """Unknown fields, long texts, lists and NaN do not get past the schema."""
    with pytest.raises(ValidationError):
        JobRequest.model_validate(wrong)


@pytest.mark.parametrize("value", [1, 0, True, 1.0, "on"])
def test_parameters_keep_their_type(value: object) -> None:
    """A one does not become true, nor `on`."""
    found = JobRequest.model_validate({"workload": "digits", "params": {"p": value}}).params["p"]
    assert (found, type(found)) == (value, type(value))


def test_what_is_named_twice_counts_once() -> None:
    """A space would otherwise hold the same ways to distribute again and again."""
    twice = {"workers": [2, 1, 2], "strategies": ["one_device", "one_device"]}
    found = JobRequest.model_validate({"workload": "digits", **twice})
    assert (found.workers, found.strategies) == ((2, 1), ("one_device",))


def test_a_known_request_keeps_its_fingerprint() -> None:
    """Databases hold it: a retry across an upgrade would otherwise be taken for another request."""
    asked = {"workload": "digits", "params": {"filters": 64}, "space": "quick", "budget": "30s"}
    known = "f0b8db43bc1d13020b17dfa428f85958dc874ecf173c6266d7e815b9737b9858"
    for budget in ("30s", 30, 30.0, "0.5min"):
        assert JobRequest.model_validate({**asked, "budget": budget}).fingerprint == known


def test_equal_requests_have_equal_fingerprints(asked: JobRequest) -> None:
    """A request is recognised when it comes again."""
    assert asked.fingerprint == JobRequest(workload="digits").fingerprint
    assert asked.fingerprint != JobRequest(workload="digits", seed=1).fingerprint


def test_the_order_of_members_makes_no_other_request() -> None:
    """A client that sends the same object in another order repeats its request."""
    one, other = ({"a": 1, "b": 2.0}, {"b": 2.0, "a": 1})
    first = JobRequest.model_validate({"workload": "digits", "params": one})
    again = JobRequest.model_validate({"params": other, "workload": "digits"})
    assert first.fingerprint == again.fingerprint


@pytest.mark.parametrize("other", [{"a": 2, "b": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}, {}])
def test_other_parameters_make_another_request(other: dict[str, object]) -> None:
    """Values belong to their names, and keep their type."""
    first = JobRequest.model_validate({"workload": "digits", "params": {"a": 1, "b": 2}})
    second = JobRequest.model_validate({"workload": "digits", "params": other})
    assert first.fingerprint != second.fingerprint


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


ODD = ("\ud800", "a\x00b", "\x1b[31m", "a\nb", "\x85", "a\u202eb", "a\u200bb", "\ufeffa")


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_texts_that_cannot_be_shown_are_refused(registry: Registry, text: str) -> None:
    """A lone surrogate could not be kept; a control character would reach terminals and pages."""
    odd = ({"name": text}, {"description": f"{text}\x00"})
    for each in (Space(strategies=("one_device",), **shown) for shown in odd):
        with pytest.raises(InvalidSpace):
            checked(JobRequest(workload="digits", space=each), registry, Quotas())
    with pytest.raises(ValidationError):
        JobRequest.model_validate({"workload": "digits", "params": {"colour": text}})


@pytest.mark.parametrize("axis", ["workers", "per_replica_batch", "filters"])
def test_numbers_that_nothing_is_computed_with_are_refused(registry: Registry, axis: str) -> None:
    """They are no mistake of the service."""
    names = ("one_device", "multi_worker_mirrored")
    space = Space(strategies=names, axes={axis: (10**400,)})
    with pytest.raises(InvalidSpace):
        checked(JobRequest(workload="digits", space=space), registry, Quotas(), [FAKE_MACHINE])


def test_what_is_left_out_is_the_same_request() -> None:
    """A later version with more options still knows a request that is made again."""
    plain = JobRequest(workload="digits")
    assert plain.fingerprint == JobRequest(workload="digits", seed=0, margin=0.03).fingerprint
    assert '"seed"' not in json.dumps(plain.model_dump(mode="json", exclude_defaults=True))


def test_no_strategy_at_all_is_refused(registry: Registry) -> None:
    """It would be taken for all of them."""
    with pytest.raises(InvalidOption, match="No strategy"):
        checked(JobRequest(workload="digits", strategies=()), registry, Quotas())
