"""The schema of a search space, the same for ready-made ones, a user's file and a request."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from autotune.config import accepts, axes, default_of, describe, schema_of
from autotune.errors import SpaceError
from autotune.hints import hint
from autotune.space.reserved import why_reserved
from autotune.strategies import strategies
from autotune.value import Scalar, Value

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
                raise ValueError(_unknown("strategy", name, list(strategies())))
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
    def own_axes(self) -> tuple[str, ...]:
        """Names of the user's own axes."""
        return tuple(name for name in self.axes if name not in axes())

    def values(self, name: str) -> tuple[Scalar, ...]:
        """Return the domain of an axis: its default alone where the space does not name it."""
        if name in self.axes:
            return self.axes[name]
        return (default_of(name),)


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


def _check_domain(name: str, values: tuple[Scalar, ...]) -> None:
    if name in ("strategy", "arguments"):
        raise ValueError(f"{name!r} is not an axis of a space; list strategies under `strategies`")
    if not values:
        raise ValueError(f"axis {name!r} has no values")
    if len(values) > MAX_VALUES:
        raise ValueError(f"axis {name!r} has {len(values)} values; the limit is {MAX_VALUES}")
    if len({(type(v), v) for v in values}) < len(values):
        raise ValueError(f"axis {name!r} has duplicate values")
    reserved = why_reserved(name)
    if reserved:
        raise ValueError(f"{name!r} cannot be a user-defined axis: {reserved}")
    for value in values if name in axes() else ():
        if why_not := accepts(name, value):
            raise ValueError(f"axis {name!r} cannot be {value!r}: {why_not}. {describe(name)}")


def _yaml_off(name: str, value: Any) -> Any:
    """Undo YAML 1.1, which reads a bare `off` as false."""
    if value is False and name in axes() and accepts(name, value):
        return "off"
    return value


def _unknown(kind: str, name: str, known: list[str]) -> str:
    return f"Unknown {kind} {name!r}. {hint(name, known)}"
