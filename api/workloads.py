"""The workloads that may be asked for: the operator registers them, a request only names one.

A model factory is code, so it never comes from a request. What does come are parameters, which
the workload's own pydantic model validates before they become arguments of the factories.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from autotune.base import Scalar, Value
from autotune.errors import first_mistake
from autotune.space import Space
from autotune.text import hint
from autotune.wire.errors import InvalidParameter, SettingsError, UnknownWorkload
from autotune.workload import Factory, is_script

GROUP = "autotune.workloads"
"""Entry points of this group name a `Registered` each."""
Params = Mapping[str, Scalar]


class NoParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A workload as the operator registered it."""

    model: str
    """Its model factory, as `package.module:function` or `path/to/file.py:function`; or the path of
    a training script, which has no dataset factory and no parameters."""
    dataset: str = ""
    description: str = ""
    parameters: type[BaseModel] = NoParameters
    """Each field is one scalar; the model forbids others, whatever its own settings are."""
    for_dataset: frozenset[str] = frozenset()
    """Parameters that go to the dataset factory; the others go to the model factory."""

    def validate(self, given: Params) -> dict[str, Scalar]:
        unknown = sorted(set(given) - set(self.parameters.model_fields))
        if unknown:
            meant = hint(unknown[0], self.parameters.model_fields)
            raise InvalidParameter(f"The workload has no parameter {unknown[0]!r}.", meant)
        try:
            # From Python values a strict model takes no text for a choice, a path or a date; from
            # JSON it does, and stays as strict about numbers.
            text = json.dumps(dict(given))
            checked = self.parameters.model_validate_json(text, strict=True)
        except ValidationError as exc:
            why = f"Parameter {first_mistake(exc)}."
            raise InvalidParameter(why, "See the workload's parameters.") from exc
        return checked.model_dump(mode="json", exclude_none=True)

    def check_space(self, space: str | Space, params: Params) -> None:
        """Make sure that a space's own axes hold what the parameters may be."""
        if isinstance(space, Space):
            for name in space.own_axes:
                for value in space.axes[name]:
                    self.validate({**params, name: value})

    def code(self, root: Path) -> str:
        """Return the digest of its code as it is now, equal wherever the same code lies.

        Of an installed module it is that of the name alone.
        """
        if is_script(self.model):
            texts = [self.model]
            with suppress(OSError):  # It is gone.
                texts.append(hashlib.sha256((root / self.model).read_bytes()).hexdigest())
        else:
            texts = [_factory(each, root).identity for each in (self.model, self.dataset)]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def _factory(text: str, root: Path) -> Factory:
    where, _, name = text.rpartition(":")
    if where.endswith(".py"):
        path = root / where
        return Factory(name=name, module=path.stem, root=str(path.parent))
    top = root / where.partition(".")[0]
    is_here = top.is_dir() or top.with_suffix(".py").is_file()
    return Factory(name=name, module=where, root=str(root) if is_here else None)


class Parameter(Value):
    type: Annotated[str, Field(pattern="^(int|float|str|bool)$")]
    default: Scalar | None = None
    """Without one the parameter must be given."""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Scalar, ...] = ()
    """Every text needs them: a free one could name a file."""
    dataset: bool = False
    """It goes to the dataset factory."""
    description: str = ""


class Declared(Value):
    model: str
    dataset: str = ""
    description: str = ""
    parameters: dict[str, Parameter] = Field(default_factory=dict)


def registered(declared: Declared) -> Registered:
    if is_script(declared.model) != (not declared.dataset):
        raise SettingsError(
            f"Workload {declared.model!r} is no pair of factories.",
            "Name a model and a dataset factory, or a training script alone.",
        )
    if is_script(declared.model) and declared.parameters:
        raise SettingsError(f"The script {declared.model} takes no parameters.", "Remove them.")
    fields = dict[str, Any]()
    for name, each in declared.parameters.items():
        kind: object = Literal[each.choices] if each.choices else _TYPES[each.type]
        default = ... if each.default is None else each.default
        field = Field(default, ge=each.minimum, le=each.maximum, description=each.description)
        fields[name] = (kind, field)
    forbid = ConfigDict(extra="forbid", allow_inf_nan=False)
    return Registered(
        model=declared.model,
        dataset=declared.dataset,
        description=declared.description,
        parameters=create_model("Parameters", __config__=forbid, **fields),
        for_dataset=frozenset(n for n, each in declared.parameters.items() if each.dataset),
    )


def check_bounded(name: str, workload: Registered) -> None:
    """Make sure that no parameter takes any text at all."""
    schema = workload.parameters.model_json_schema()
    parts = [*schema.get("properties", {}).items(), *schema.get("$defs", {}).items()]
    free = [each for each, part in parts if _takes_any_text(part)]
    if free:
        raise SettingsError(
            f"Parameter {free[0]!r} of workload {name!r} takes any string, so a request could pass "
            "any path or URL.",
            "Restrict it to choices, or give it a pattern.",
        )


def _takes_any_text(schema: dict[str, Any]) -> bool:
    inner = [each for word in ("anyOf", "oneOf", "allOf") for each in schema.get(word, ())]
    if inner:
        return any(map(_takes_any_text, inner))
    if not {"$ref", *_BOUNDING}.isdisjoint(schema):
        return False
    return schema.get("type", "string") == "string" and schema.get("format") not in _FORMATS


class Registry(dict[str, Registered]):
    """All workloads, by name. Threads may share it."""

    def __missing__(self, name: str) -> Registered:
        known = ", ".join(sorted(self)) or "none"
        raise UnknownWorkload("Unknown workload.", f"Registered: {known}.")


_BOUNDING = {"enum", "const", "pattern"}
"""The words of a schema that bound a text."""
_FORMATS = {"date", "date-time", "time", "duration", "uuid"}
"""Formats of which no text is a path or an address."""
_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
