"""Names that autotune fills itself cannot be taken by the user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.errors import ConfigurationError, SpaceError
from autotune.machine import Machine
from autotune.search.tune import TuningRequest, dry_run
from autotune.space import check_arguments, parse_space
from autotune.testing import FakeEngine
from autotune.workload import Workload


class Untouched(FakeEngine):
    """An engine that nobody may ask for its machine."""

    def __init__(self) -> None:
        super().__init__(lambda _: 1.0)

    def machine(self) -> Machine:
        raise AssertionError("the machine was asked for")


def fixing(workload: Workload, role: str, **arguments: Any) -> Workload:
    factory = getattr(workload, role).model_copy(update={"arguments": tuple(arguments.items())})
    return workload.model_copy(update={role: factory})


@pytest.mark.parametrize("name", ["batch_size", "input_context"])
def test_an_axis_cannot_have_a_name_that_the_program_fills(name: str) -> None:
    """Such an axis would override the batch that rates are counted with."""
    with pytest.raises(SpaceError, match=f"{name}.*use `per_replica_batch`"):
        parse_space({"strategies": ["one_device"], "axes": {name: [32, 512]}}, where="my.yaml")


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"batch_size": 64}, "per_replica_batch: [64]"),
        ({"input_context": "x"}, "shard_policy"),
        ({"cache": True}, "cache: [memory]"),
        ({"num_parallel_calls": 4}, "num_parallel_calls: [4]"),
    ],
)
def test_what_autotune_passes_to_the_dataset_cannot_be_fixed(
    workload: Workload, arguments: dict[str, Any], remedy: str
) -> None:
    """The message names the axis to set instead."""
    with pytest.raises(ConfigurationError) as caught:
        check_arguments(fixing(workload, "dataset", **arguments), ())
    assert remedy in caught.value.next_step


def test_what_autotune_does_not_pass_may_be_fixed(workload: Workload) -> None:
    """Only the dataset factory is given a batch size; all else is the user's business."""
    check_arguments(fixing(workload, "model", batch_size=64), ("units",))
    check_arguments(fixing(workload, "dataset", image_size=96), ("units",))


@pytest.mark.parametrize(
    ("role", "option"), [("model", "--model-arg"), ("dataset", "--dataset-arg")]
)
def test_an_axis_cannot_be_fixed_as_well(workload: Workload, role: str, option: str) -> None:
    """Which of the two values would count is not left to chance."""
    with pytest.raises(SpaceError, match=f"'units'.* set to 3 by {option}"):
        check_arguments(fixing(workload, role, units=3), ("units",))


def test_a_search_refuses_them_before_it_looks_at_the_machine(workload: Workload) -> None:
    """The engine may take seconds to start; none of them are spent. Nor for a wrong space."""
    fixed = fixing(workload, "dataset", batch_size=64)
    with pytest.raises(ConfigurationError):
        dry_run(TuningRequest(workload=fixed, out=Path("out")), Untouched())
    with pytest.raises(SpaceError, match="nosuch"):
        dry_run(TuningRequest(workload=workload, space="nosuch", out=Path("out")), Untouched())
