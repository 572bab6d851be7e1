"""Checking a request for a job."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from autotune.api.asked import Asked, checked
from autotune.api.errors import InvalidTuning
from autotune.api.settings import Quotas
from autotune.api.workloads import Registry


def test_a_request_becomes_complete(registry: Registry, asked: Asked) -> None:
    """What the request leaves out is filled in before the job is kept."""
    tuning = checked(asked, registry, Quotas())
    assert tuning.options.budget == 180
    assert tuning.params == (("colour", "grey"), ("filters", 32))


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
    wrong = Asked.model_validate({"workload": "digits", **changes})
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
        {"workload": "digits", "workers": list(range(1, 100))},
    ],
)
def test_what_is_malformed_is_refused(wrong: dict[str, object]) -> None:
    """Unknown fields, long texts, lists and NaN do not get past the schema."""
    with pytest.raises(ValidationError):
        Asked.model_validate(wrong)


@pytest.mark.parametrize("value", [1, 0, True, 1.0, "on"])
def test_parameters_keep_their_type(value: object) -> None:
    """A one does not become true, nor `on`."""
    found = Asked.model_validate({"workload": "digits", "params": {"p": value}}).params["p"]
    assert (found, type(found)) == (value, type(value))


def test_equal_requests_have_equal_fingerprints(asked: Asked) -> None:
    """A request is recognised when it comes again."""
    assert asked.fingerprint == Asked(workload="digits").fingerprint
    assert asked.fingerprint != Asked(workload="digits", seed=1).fingerprint


def test_the_order_of_members_makes_no_other_request() -> None:
    """A client that sends the same object in another order repeats its request."""
    one, other = ({"a": 1, "b": 2.0}, {"b": 2.0, "a": 1})
    first = Asked.model_validate({"workload": "digits", "params": one})
    again = Asked.model_validate({"params": other, "workload": "digits"})
    assert first.fingerprint == again.fingerprint


@pytest.mark.parametrize("other", [{"a": 2, "b": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}, {}])
def test_other_parameters_make_another_request(other: dict[str, object]) -> None:
    """Values belong to their names, and keep their type."""
    first = Asked.model_validate({"workload": "digits", "params": {"a": 1, "b": 2}})
    second = Asked.model_validate({"workload": "digits", "params": other})
    assert first.fingerprint != second.fingerprint
