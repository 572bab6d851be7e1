"""Checking a request for a job."""

from typing import Any

import pytest
from pydantic import ValidationError

from autotune.api.requests import check_runnable, checked
from autotune.api.settings import Quotas
from autotune.api.workloads import Registry
from autotune.options import SearchOptions
from autotune.space import AUTO, Space
from autotune.wire.errors import InvalidSpace, InvalidTuning, SpaceNotRunnable
from autotune.wire.jobs import JobRequest
from tests.engines.fake import FAKE_MACHINE


def test_a_known_request_keeps_its_fingerprint() -> None:
    """Databases hold it: a retry across an upgrade would otherwise be taken for another request."""
    asked = {"workload": "digits", "params": {"filters": 64}, "space": "quick", "budget": "30s"}
    asked |= {"seed": 0, "margin": 0.03}  # As they are if nothing is said.
    known = "f0b8db43bc1d13020b17dfa428f85958dc874ecf173c6266d7e815b9737b9858"
    for budget in ("30s", 30, 30.0, "0.5min"):
        assert JobRequest.model_validate({**asked, "budget": budget}).fingerprint == known


@pytest.mark.parametrize("other", [{"a": 2, "b": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}, {}])
def test_other_parameters_make_another_request(other: dict[str, object]) -> None:
    first, again, second = (
        JobRequest.model_validate({"workload": "digits", "params": each})
        for each in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, other)
    )
    assert first.fingerprint == again.fingerprint != second.fingerprint


MANY = tuple(range(1, 65))
CORES = Space(strategies=("one_device", "tpu"), axes={"replicas_per_worker": (2,)})
PLACES = Space(
    strategies=("multi_worker_mirrored",),
    axes={"workers": MANY, "replicas_per_worker": MANY, "reduction": ("default", "ring")},
)
SETTINGS = Space(
    strategies=("one_device",),
    axes=dict.fromkeys(("per_replica_batch", "steps_per_execution", "prefetch"), MANY),
)
SERVERS = Space(
    strategies=("one_device", "parameter_server"),
    axes={"workers": (2,), "servers": (1,), "shard_policy": ("data",)},
)


@pytest.mark.parametrize(
    ("space", "options"),
    [
        *((each, {}) for each in (AUTO, "quick", "cpu", "multi_worker")),
        (Space(strategies=("one_device",)), {}),
        ("tpu", {"strategies": ("one_device",)}),
        ("quick", {"global_batch": 33}),
        (SERVERS, {"allow_asynchronous": True}),
    ],
)
def test_what_runs_here_passes(space: str | Space, options: dict[str, Any]) -> None:
    """One device may be all that is asked for; whether a batch divides is left to the search."""
    check_runnable(space, SearchOptions(**options), FAKE_MACHINE)


@pytest.mark.parametrize(
    ("space", "options", "error", "told"),
    [
        ("tpu", {}, SpaceNotRunnable, "TPU"),
        (CORES, {}, SpaceNotRunnable, "TPU"),
        ("quick", {"strategies": ("tpu",)}, InvalidSpace, "one_device"),
        (PLACES, {}, InvalidSpace, "ways to distribute"),
        (SETTINGS, {}, InvalidSpace, "combinations"),
        (SERVERS, {}, SpaceNotRunnable, "allow_asynchronous"),
    ],
)
def test_what_cannot_run_here_or_is_too_large_is_refused(
    space: str | Space, options: dict[str, Any], error: type[InvalidTuning], told: str
) -> None:
    """A job would wait only to measure one device, or keep the service busy; the rule is told."""
    with pytest.raises(error, match=told):
        check_runnable(space, SearchOptions(**options), FAKE_MACHINE)


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
