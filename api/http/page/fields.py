"""The fields of a form, drawn from a JSON schema, and what was typed into them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

from autotune.value import Scalar

MOST_FIELDS = 500
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Typed:
    """The fields of a form; an empty one counts as left out."""

    values: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """Return what was typed into a field."""
        return self.values.get(name, ("",))[-1].strip()

    def all(self, name: str) -> tuple[str, ...]:
        """Return everything that was chosen of a field."""
        return self.values.get(name, ())


async def typed_of(request: Request) -> Typed:
    """Return what a form sends.

    Raises:
        HTTPException: It is no form, or holds too much.
    """
    try:
        text = (await request.body()).decode("ascii")
        found = parse_qs(text, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as exc:
        raise HTTPException(400, "There was an error parsing the body") from exc
    return Typed({name: tuple(values) for name, values in found.items()})


def number(text: str) -> Scalar:
    """Return the number that a text is; the text itself, if it is none, for others to refuse."""
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        found = float(text)
    except ValueError:
        return text
    return found if math.isfinite(found) else text


Schema = Mapping[str, Any]


class Control(StrEnum):
    """What a field is filled in with."""

    NUMBER = "number"
    """A text of which a number is made, and whose mistakes the service tells."""
    TEXT = "text"
    SELECT = "select"
    CHECKBOX = "checkbox"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of the values to choose from."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field with what stands in it."""

    name: str
    label: str
    control: Control
    value: str = ""
    hint: str = ""
    error: str = ""
    options: tuple[Option, ...] = ()
    keyboard: str = "text"
    """Which one a phone shows."""
    required: bool = False
    chosen: bool = False
    """Of a checkbox."""

    @property
    def described(self) -> str:
        """The ids of what explains it, for those who hear the page."""
        parts = [("hint", self.hint), ("error", self.error)]
        return " ".join(f"{self.name}-{part}" for part, text in parts if text)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a workload, as its schema tells it."""

    name: str
    schema: Schema
    required: bool

    @property
    def control(self) -> Control:
        """What it is filled in with."""
        if self.choices:
            return Control.SELECT
        kinds = {"integer": Control.NUMBER, "number": Control.NUMBER, "boolean": Control.CHECKBOX}
        return kinds.get(str(self.schema.get("type")), Control.TEXT)

    @property
    def choices(self) -> tuple[Scalar, ...]:
        """What it may be, where that is a list."""
        only = [self.schema["const"]] if "const" in self.schema else []
        return tuple(self.schema.get("enum", only))

    def value(self, text: str) -> Scalar:
        """Return what a text stands for; what stands for nothing is left for others to refuse."""
        if self.choices:
            return next((each for each in self.choices if str(each) == text), text)
        return number(text) if self.control is Control.NUMBER else text

    def given(self, typed: Typed, field: str) -> Scalar | None:
        """Return what was typed for it, or None if nothing was."""
        if self.control is Control.CHECKBOX:
            return bool(typed.one(field))
        text = typed.one(field)
        return self.value(text) if text else None

    def field(self, name: str, typed: Typed | None, error: str) -> Field:
        """Return its field, with what was typed, or else with its default."""
        default = self.schema.get("default")
        value = typed.one(name) if typed else ("" if default is None else str(default))
        return Field(
            name=name,
            label=self.name.replace("_", " ").capitalize(),
            control=self.control,
            value=value,
            hint=self._hint(),
            error=error,
            options=self._options(value),
            keyboard=_KEYBOARDS.get(str(self.schema.get("type")), "text"),
            required=self.required,
            chosen=bool(typed.one(name)) if typed else default is True,
        )

    def _options(self, value: str) -> tuple[Option, ...]:
        texts = [str(each) for each in self.choices]
        optional = [] if self.required or "default" in self.schema else [""]
        return tuple(
            Option(value=text, label=text or "(none)", chosen=text == value)
            for text in (*optional, *texts)
        )

    def _bound(self, *names: str) -> str:
        """Return a bound as people write it."""
        found = next((self.schema[name] for name in names if name in self.schema), None)
        if found is None:
            return ""
        return f"{int(found):,}" if found == int(found) else f"{found:g}"

    def _hint(self) -> str:
        low = self._bound("minimum", "exclusiveMinimum")
        high = self._bound("maximum", "exclusiveMaximum")
        if low and high:
            bounds = f"{low} to {high}."
        elif low:
            bounds = f"At least {low}." if "minimum" in self.schema else f"Above {low}."
        else:
            bounds = f"At most {high}." if high else ""
        return " ".join(filter(None, [str(self.schema.get("description") or ""), bounds]))


# A field of the type `number` would lose whatever else was typed before anybody could tell.
_KEYBOARDS = {"integer": "numeric", "number": "decimal"}


def parameters(schema: Schema) -> tuple[Parameter, ...]:
    """Return the parameters of a workload by its schema."""
    required = schema.get("required", ())
    found = schema.get("properties", {})
    return tuple(
        Parameter(name, _plain(each, schema), name in required) for name, each in found.items()
    )


def _plain(found: Schema, whole: Schema) -> Schema:
    """Return a property without references, and without the null that it may be."""
    if "$ref" in found:
        name = str(found["$ref"]).rpartition("/")[2]
        found = {**whole.get("$defs", {}).get(name, {}), **_rest(found, "$ref")}
    choices = [each for each in found.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) == 1:
        return _plain({**choices[0], **_rest(found, "anyOf")}, whole)
    return found


def _rest(found: Schema, name: str) -> Schema:
    return {key: value for key, value in found.items() if key != name}
