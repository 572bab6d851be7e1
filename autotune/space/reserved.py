"""Names that a user may not take: what they stand for is filled by autotune, and counted by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from autotune.errors import ConfigurationError, SpaceError
from autotune.value import Scalar
from autotune.workload import Workload

_FILLED: Mapping[str, str] = {
    "batch_size": "`per_replica_batch`",
    "input_context": "`per_replica_batch`, `workers` and `shard_policy`",
}
"""Parameters of the dataset factory that the program fills, with the axes that decide how."""

_INSTEAD: Mapping[str, str] = {
    "batch_size": "Use a space with `per_replica_batch: [{value}]`, or --global-batch.",
    "input_context": "Remove it; it follows from the axes `workers` and `shard_policy`.",
    "num_parallel_calls": "Use a space with `num_parallel_calls: [{value}]`.",
}
"""Arguments of the dataset factory that cannot be fixed, with what to do instead."""


def why_reserved(axis: str) -> str | None:
    """Return why an axis of the user's own cannot have this name, or None if it can."""
    if axis not in _FILLED:
        return None
    return f"autotune sets the parameter {axis!r}; use {_FILLED[axis]}"


def check_arguments(workload: Workload, own_axes: Collection[str]) -> None:
    """Refuse fixed arguments that would override what a configuration says.

    Args:
        workload: Its factories hold the fixed arguments.
        own_axes: The space's axes that are none of autotune's.

    Raises:
        ConfigurationError: An argument of the dataset factory is autotune's to fill.
        SpaceError: An argument is an axis of the space, too.
    """
    for name, value in workload.dataset.arguments:
        if name in _INSTEAD:
            raise _filled_by_autotune(name, value)
    _check_axes("--model-arg", workload.model.arguments, own_axes)
    _check_axes("--dataset-arg", workload.dataset.arguments, own_axes)


def _filled_by_autotune(name: str, value: Scalar) -> ConfigurationError:
    return ConfigurationError(
        f"--dataset-arg cannot set {name!r}: autotune passes it to the dataset factory.",
        _INSTEAD[name].format(value=value),
    )


def _check_axes(
    option: str, arguments: tuple[tuple[str, Scalar], ...], own_axes: Collection[str]
) -> None:
    for name, value in arguments:
        if name in own_axes:
            raise SpaceError(
                f"Axis {name!r} is in the space and also set to {value!r} by {option}.",
                "Remove one of the two.",
            )
