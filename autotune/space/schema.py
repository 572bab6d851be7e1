"""What a search space is: the same for ready-made ones, a user's file and a request."""

import json
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from autotune.base import Scalar, Value
from autotune.config import accepts, axes, default_of, describe, schema_of
from autotune.errors import ConfigurationError, SpaceError, in_words, requirement
from autotune.machine import Machine
from autotune.strategies import strategies
from autotune.text import hint
from autotune.workload import Workload

AUTO = "auto"
"""Instead of a name, it stands for whichever ready-made space fits the machine."""
MachineKind = Literal["cpu", "gpu", "gpus", "tpu"]
MAX_VALUES = 64
"""More values of one axis than this are a mistake."""


def _offer_axes(schema: dict[str, Any]) -> None:
    schema["properties"] = {
        name: {
            "type": "array",
            "items": schema_of(name),
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
        for each in names:
            if each not in strategies():
                raise ValueError(f"Unknown strategy {each!r}. {hint(each, strategies())}")
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
            if why := _why_not(name, values):
                raise ValueError(why)
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
    """Return the space that some data describes."""
    try:
        return Space.model_validate(data)
    except ValidationError as exc:
        text = _mistake(exc).rstrip(".")
        raise SpaceError(
            f"{where}: {text}.", "`autotune spaces cpu` shows a complete space."
        ) from exc


def _mistake(error: ValidationError) -> str:
    """Return the first thing that is wrong with a space."""
    first = error.errors()[0]
    path, kind, text = first["loc"], first["type"], requirement(first["msg"])
    name = ".".join(map(str, path))
    if kind == "extra_forbidden":
        return f"there is no {name!r}. {hint(name, Space.model_fields)}"
    if path[:1] == ("axes",) and len(path) > 1:
        return f"axis {path[1]!r} takes numbers, texts, true and false"
    return text if kind == "value_error" else f"{name or 'a space'}: {text}"


@cache
def ready_made() -> dict[str, Space]:
    folder = files("autotune.search_spaces")
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): _parse(folder.joinpath(name).read_text("utf-8"), name)
        for name in names
    }


def load_space(name: str) -> Space:
    """Return a space by the name of a ready-made one, or by the path of a YAML file.

    It needs no machine, so a wrong name is known at once. `auto` does: see `space_for`.
    """
    return ready_made()[name] if name in ready_made() else _parse(space_file(name), name)


def space_file(name: str) -> str:
    """Return the text of a ready-made space, by its name, or of a YAML file."""
    if name in ready_made():
        return files("autotune.search_spaces").joinpath(f"{name}.yaml").read_text("utf-8")
    path = Path(name)
    if path.suffix not in (".yaml", ".yml", ".json") and not path.is_file():
        raise SpaceError(
            f"Unknown space {name!r}, and no file of that name.",
            hint(name, [AUTO, *ready_made()]),
        )
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SpaceError(f"{name} cannot be read: {in_words(exc)}.", "Check the path.") from exc


def space_for(machine: Machine) -> Space:
    kind = kind_of(machine)
    return next(space for space in ready_made().values() if space.chosen_for == kind)


def kind_of(machine: Machine) -> MachineKind:
    if machine.tpus:
        return "tpu"
    if machine.gpus:
        return "gpus" if len(machine.gpus) > 1 else "gpu"
    return "cpu"


def _parse(text: str, where: str) -> Space:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        problem = f": {str(exc).splitlines()[0]}"
        if isinstance(exc, yaml.MarkedYAMLError) and exc.problem_mark:
            begun = exc.context_mark
            since = f", for what begins in line {begun.line + 1}" if begun else ""
            problem = f" in line {exc.problem_mark.line + 1}: {exc.problem}{since}"
        raise SpaceError(f"{where} is not valid YAML{problem}.", "Fix this line.") from exc
    return parse_space(data, where=where)


def check_arguments(workload: Workload, own_axes: Collection[str]) -> None:
    """Refuse fixed arguments that would override what a configuration says."""
    filled = _filled()
    for name, _ in workload.dataset.arguments:
        if name in filled:
            raise ConfigurationError(
                f"--dataset-arg cannot set {name!r}: autotune passes it to the dataset factory.",
                f"Use a space with {filled[name]}, or rename the parameter.",
            )
    for option, factory in (("--model-arg", workload.model), ("--dataset-arg", workload.dataset)):
        for name, value in factory.arguments:
            if name in own_axes:
                raise SpaceError(
                    f"Axis {name!r} is in the space and also set to {value!r} by {option}.",
                    "Remove one of the two.",
                )


def _filled() -> dict[str, str]:
    """Name the parameters of the dataset factory that the program fills, with the axes for each."""
    of_axes = {
        axis.needs_parameter: f"`{name}`" for name, axis in axes().items() if axis.needs_parameter
    }
    return of_axes | {
        "cache": "`cache`",
        "batch_size": "`per_replica_batch`",
        "input_context": "`per_replica_batch`, `workers` and `shard_policy`",
    }


def _why_not(name: str, values: tuple[Scalar, ...]) -> str | None:
    if name in ("strategy", "arguments"):
        return f"{name!r} is not an axis of a space; list strategies under `strategies`"
    if not values:
        return f"axis {name!r} has no values"
    if len(values) > MAX_VALUES:
        return f"axis {name!r} has {len(values)} values; the limit is {MAX_VALUES}"
    if len({(type(v), v) for v in values}) < len(values):
        return f"axis {name!r} has duplicate values"
    if name in axes():
        return next(filter(None, (_refused(name, each) for each in values)), None)
    mine = _filled().get(name)
    return mine and (
        f"{name!r} cannot be a user-defined axis: autotune sets the parameter {name!r}; use {mine}"
    )


def _refused(name: str, value: Scalar) -> str | None:
    why = accepts(name, value)
    if why is None:
        return None
    close = get_close_matches(str(value), map(str, schema_of(name).get("enum", ())))
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    why = requirement(why, "it")
    return f"axis {name!r} cannot be {value!r}: {why}.{meant} {describe(name)}"


def _yaml_off(name: str, value: Any) -> Any:
    """Undo YAML 1.1, which reads a bare `off` as false."""
    if value is False and name in axes() and accepts(name, value):
        return "off"
    return value
