"""The schema of a search space, the same for ready-made ones, a user's file and a request."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from autotune.config import accepts, axes, default_of, describe, schema_of
from autotune.errors import ConfigurationError, SpaceError
from autotune.hints import hint
from autotune.strategies import strategies
from autotune.value import Scalar, Value
from autotune.workload import Workload

MachineKind = Literal["cpu", "gpu", "gpus", "tpu"]
MAX_VALUES = 64
"""More values of one axis than this are a mistake."""


def _offer_axes(schema: dict[str, Any]) -> None:
    """Name every axis in the schema, with its values, its default and its description."""
    schema["properties"] = {
        name: {
            "type": "array",
            "items": {k: v for k, v in schema_of(name).items() if k != "description"},
            "default": [default_of(name)],
            "description": describe(name),
        }
        for name in axes()
        if name != "strategy"
    }


class Space(Value):
    """Which strategies to try, and the values of each axis; an axis that is absent is fixed."""

    name: str = "custom"
    description: str = ""
    chosen_for: MachineKind | None = None
    """The kind of machine for which `auto` picks this space."""
    strategies: tuple[str, ...] = Field(min_length=1)
    axes: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict, json_schema_extra=_offer_axes)
    """By name of the axis; a name that is no axis of autotune's is one of the user's own, and
    goes to the factory that declares a parameter of that name."""

    @field_validator("strategies")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in strategies():
                raise ValueError(f"Unknown strategy {name!r}. {hint(name, strategies())}")
        return tuple(dict.fromkeys(names))

    @field_validator("axes", mode="before")
    @classmethod
    def _lists(cls, given: Any) -> Any:
        """Let a single value stand for a list of one."""
        if not isinstance(given, dict):
            return given
        listed = {k: v if isinstance(v, list | tuple) else (v,) for k, v in given.items()}
        return {k: tuple(_yaml_off(k, each) for each in v) for k, v in listed.items()}

    @model_validator(mode="after")
    def _valid_domains(self) -> Self:
        for name, values in self.axes.items():
            _check_domain(name, values)
        return self

    @property
    def identity(self) -> str:
        """Equal for spaces of the same configurations, in whichever order their axes stand."""
        tried = self.model_dump(mode="json", include={"strategies", "axes"})
        return json.dumps(tried, sort_keys=True)

    @property
    def own_axes(self) -> tuple[str, ...]:
        """Names of the user's own axes."""
        return tuple(name for name in self.axes if name not in axes())

    def values(self, name: str) -> tuple[Scalar, ...]:
        """Return the domain of an axis: its default alone where the space does not name it."""
        return self.axes[name] if name in self.axes else (default_of(name),)


def parse_space(data: Any, *, where: str) -> Space:
    """Return the space that some data describes.

    Args:
        data: As read from YAML or JSON.
        where: What to call it in an error.

    Raises:
        SpaceError: One line that names the axis and what is wrong with it.
    """
    try:
        return Space.model_validate(data)
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise SpaceError(
            f"{where}: {place + ': ' if place else ''}{message}.",
            "`autotune spaces cpu` shows a complete space.",
        ) from exc


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
        if name in (filled := _filled()):
            raise ConfigurationError(
                f"--dataset-arg cannot set {name!r}: autotune passes it to the dataset factory.",
                filled[name][1].format(value=value),
            )
    for option, factory in (("--model-arg", workload.model), ("--dataset-arg", workload.dataset)):
        for name, value in factory.arguments:
            if name in own_axes:
                raise SpaceError(
                    f"Axis {name!r} is in the space and also set to {value!r} by {option}.",
                    "Remove one of the two.",
                )


def _filled() -> dict[str, tuple[str, str]]:
    """Name the parameters of the dataset factory that the program fills.

    Each with the axes that decide how, and with what to do instead of fixing it.
    """
    of_axes = {
        axis.needs_parameter: (f"`{name}`", f"Use a space with `{name}: [{{value}}]`.")
        for name, axis in axes().items()
        if axis.needs_parameter
    }
    return of_axes | {
        "cache": ("`cache`", "Use a space with `cache: [memory]`, or rename the parameter."),
        "batch_size": (
            "`per_replica_batch`",
            "Use a space with `per_replica_batch: [{value}]`, or --global-batch.",
        ),
        "input_context": (
            "`per_replica_batch`, `workers` and `shard_policy`",
            "Remove it; it follows from the axes `workers` and `shard_policy`.",
        ),
    }


def _check_domain(name: str, values: tuple[Scalar, ...]) -> None:
    if name in ("strategy", "arguments"):
        raise ValueError(f"{name!r} is not an axis of a space; list strategies under `strategies`")
    if not values:
        raise ValueError(f"axis {name!r} has no values")
    if len(values) > MAX_VALUES:
        raise ValueError(f"axis {name!r} has {len(values)} values; the limit is {MAX_VALUES}")
    if len({(type(v), v) for v in values}) < len(values):
        raise ValueError(f"axis {name!r} has duplicate values")
    if name not in axes():
        if name in (filled := _filled()):
            instead = f"autotune sets the parameter {name!r}; use {filled[name][0]}"
            raise ValueError(f"{name!r} cannot be a user-defined axis: {instead}")
        return
    for value in values:
        if why_not := accepts(name, value):
            raise ValueError(f"axis {name!r} cannot be {value!r}: {why_not}. {describe(name)}")


def _yaml_off(name: str, value: Any) -> Any:
    """Undo YAML 1.1, which reads a bare `off` as false."""
    if value is False and name in axes() and accepts(name, value):
        return "off"
    return value
