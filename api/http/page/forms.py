"""The form that asks for a job: fields from JSON schemas, what was typed, and its mistakes."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import Any
from urllib.parse import parse_qs

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from autotune.api.catalog import Catalog
from autotune.api.errors import (
    InvalidBudget,
    MachineUnknown,
    ServiceError,
)
from autotune.api.requests import JobRequest, check_budget
from autotune.api.workloads import Registered
from autotune.objective import objective_names
from autotune.options import SearchOptions, declared
from autotune.space import AUTO, ready_made
from autotune.strategies import strategies
from autotune.text import roughly, sentence
from autotune.value import Scalar

MOST_FIELDS = 500
Schema = Mapping[str, Any]
WHOLE_FORM = ""
_FIELD_OF: Mapping[str, str] = {
    "unknown-workload": "workload",
    "invalid-space": "space",
    "space-not-runnable": "space",
    "invalid-budget": "budget",
    "invalid-option": "strategies",
}
"""Where an error of the service is shown, by its kind."""
_MESSAGES: Mapping[str, str] = {
    "labels": "Write name=text, each of letters, digits and . _ - /, and at most 63 of them."
}
"""Messages for fields, in place of those of the schema."""
# A field of the type `number` would lose whatever else was typed before it could be checked.
_KEYBOARDS = {"integer": "numeric", "number": "decimal"}


@dataclass(frozen=True)
class Typed:
    """The fields of a form; an empty one counts as left out."""

    values: Mapping[str, list[str]]

    def one(self, name: str) -> str:
        return self.values.get(name, [""])[-1].strip()


async def typed_of(request: Request) -> Typed:
    try:
        text = (await request.body()).decode("ascii")
        return Typed(parse_qs(text, errors="strict", max_num_fields=MOST_FIELDS))
    except ValueError as exc:
        raise HTTPException(400, "There was an error parsing the body") from exc


def once(typed: Typed, asked: JobRequest) -> str | None:
    """Return the key by which the same form with the same content makes no second job."""
    found = typed.one("once")
    return f"{found}.{asked.fingerprint}" if re.fullmatch(r"[\w-]{16,64}", found) else None


@dataclass(frozen=True, kw_only=True)
class Field:
    name: str
    label: str
    kind: str = "string"
    """The type of JSON schema."""
    value: str = ""
    hint: str = ""
    error: str = ""
    options: tuple[tuple[Scalar, str], ...] = ()
    """Values to choose from, and what they are called."""
    required: bool = False

    @property
    def control(self) -> str:
        return "select" if self.options else "checkbox" if self.kind == "boolean" else "text"

    @property
    def keyboard(self) -> str:
        return _KEYBOARDS.get(self.kind, "text")

    @property
    def described(self) -> str:
        """The ids of what explains it, for those who hear the page."""
        parts = [("hint", self.hint), ("error", self.error)]
        return " ".join(f"{self.name}-{part}" for part, text in parts if text)

    def given(self, text: str) -> Scalar | None:
        """Return what a text stands for, None for nothing; others refuse what is none of it."""
        if self.options:
            return next((each for each, _ in self.options if str(each) == text), text or None)
        if self.kind == "boolean":
            return bool(text)
        return (_number(text) if self.kind in _KEYBOARDS else text) if text else None

    def filled(self, name: str, typed: Typed | None, mistakes: Mapping[str, str]) -> Field:
        """Return the field under a name, with what was typed and what is wrong with that."""
        value = typed.one(name) if typed else self.value
        return replace(self, name=name, value=value, error=mistakes.get(name, ""))


def _number(text: str) -> Scalar:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return found if is_number and isfinite(found) else text


def fields_of(schema: Schema) -> tuple[Field, ...]:
    required = schema.get("required", ())
    return tuple(
        _field(name, _plain(each, schema), required=name in required)
        for name, each in schema.get("properties", {}).items()
    )


def _field(name: str, schema: Schema, *, required: bool) -> Field:
    default, kind = schema.get("default"), str(schema.get("type"))
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if choices and not required and default is None:
        choices = ["", *choices]
    return Field(
        name=name,
        label=name.replace("_", " ").capitalize(),
        kind=kind,
        value="" if default is None or (default is False and not choices) else str(default),
        hint=" ".join(filter(None, [schema.get("description"), _bounds(schema)])),
        options=tuple((each, str(each) or "(none)") for each in choices),
        required=required,
    )


def _bounds(schema: Schema) -> str:
    names = ("minimum", "maximum", "exclusiveMinimum")
    low, high, above = (_as_written(schema.get(name)) for name in names)
    if low and high:
        return f"{low} to {high}."
    if low:
        return f"At least {low}."
    return f"At most {high}." if high else f"Above {above}." if above else ""


def _as_written(bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def _plain(found: Schema, whole: Schema) -> Schema:
    """Return a property without references, and without the null that it may be."""
    if "$ref" in found:
        name = str(found["$ref"]).rpartition("/")[2]
        found = {**whole.get("$defs", {}).get(name, {}), **_rest(found, "$ref")}
    choices = [each for each in found.get("anyOf", ()) if each.get("type") != "null"]
    return _plain({**choices[0], **_rest(found, "anyOf")}, whole) if len(choices) == 1 else found


def _rest(found: Schema, name: str) -> Schema:
    return {key: value for key, value in found.items() if key != name}


@cache
def rarer_options() -> tuple[Field, ...]:
    schema = SearchOptions.model_json_schema()
    # A box that is not ticked looks like one that was not sent.
    choices: dict[str, tuple[Scalar, ...]] = {"objective": objective_names()}
    choices |= {each.name: (True, False) for each in declared() if each.kind == "boolean"}
    for name, found in choices.items():
        schema["properties"][name]["enum"] = found
    return tuple(each for each in fields_of(schema) if each.name not in ("budget", "strategies"))


class Form:
    def __init__(self, catalog: Catalog, typed: Typed | None = None) -> None:
        self._catalog = catalog
        self._typed = typed
        self.once = secrets.token_urlsafe(18)
        """Sent along, so that a form that is sent twice starts one job."""
        self.mistakes: Mapping[str, str] = {}
        """What is wrong, by the name of the field; what belongs to none has an empty name."""
        self.workload = typed.one("workload") if typed else next(iter(self.workloads), "")
        """The one that is chosen."""

    @property
    def workloads(self) -> Mapping[str, Registered]:
        return dict(sorted(self._catalog.workloads.items()))

    def fields(self, workload: str) -> list[Field]:
        found, typed = self._catalog.workloads.get(workload), self._typed
        named = fields_of(found.parameters.model_json_schema()) if found else ()
        # What was not sent with another workload's form keeps its default.
        sent = workload == self.workload or (
            typed and any(name.startswith(f"params.{workload}.") for name in typed.values)
        )
        return [
            each.filled(_of_parameter(workload, each.name), typed if sent else None, self.mistakes)
            for each in named
        ]

    @property
    def usual(self) -> list[Field]:
        budget = next(each for each in declared() if each.name == "budget")
        quotas = self._catalog.quotas
        low, high = roughly(quotas.shortest_budget), roughly(quotas.longest_budget)
        fields = (
            Field(
                name="budget",
                label="Budget",
                value=budget.text_of(budget.default),
                hint=f"{budget.description} Here {low} to {high}.",
            ),
            Field(
                name="space",
                label="Search space",
                value=AUTO,
                options=self._spaces(),
                hint="Strategies, batch sizes and input settings to try.",
            ),
            Field(name="labels", label="Labels", hint="To find the job by: team=vision, sprint=7."),
        )
        return [each.filled(each.name, self._typed, self.mistakes) for each in fields]

    @property
    def rarer(self) -> list[Field]:
        return [each.filled(each.name, self._typed, self.mistakes) for each in rarer_options()]

    @property
    def strategies(self) -> dict[str, str]:
        return {name: each.title for name, each in strategies().items()}

    @property
    def wanted(self) -> list[str]:
        return self._typed.values.get("strategies", []) if self._typed else []

    @property
    def open(self) -> bool:
        """Whether the rarer fields are in sight: what was typed may be wrong there."""
        return self._typed is not None

    def request(self) -> JobRequest | None:
        """Return the request that the form stands for; None if there are mistakes in it."""
        given, asked = self._given(), None
        registered = self._catalog.workloads.get(self.workload)
        wrong = registered.mistakes(given["params"]) if registered else {}
        self.mistakes = {_of_parameter(self.workload, name): text for name, text in wrong.items()}
        try:
            asked = JobRequest.model_validate(given)
            check_budget(asked.budget, self._catalog.quotas)
        except ValidationError as exc:
            self.mistakes = {**self._of_schema(exc), **self.mistakes}
        except InvalidBudget as exc:
            self.refused(exc)
        return None if self.mistakes else asked

    def refused(self, error: ServiceError) -> None:
        place = _FIELD_OF.get(error.kind, WHOLE_FORM)
        self.mistakes = {**self.mistakes, place: str(error)}

    def _given(self) -> dict[str, Any]:
        typed = self._typed or Typed({})
        params = {each.name: each.given(each.value) for each in self.fields(self.workload)}
        options: dict[str, Any] = {"budget": typed.one("budget") or None}
        options |= {"strategies": self.wanted or None}
        options |= {each.name: each.given(typed.one(each.name)) for each in rarer_options()}
        return {
            "workload": self.workload,
            "params": {
                name.rpartition(".")[2]: value
                for name, value in params.items()
                if value is not None
            },
            "space": typed.one("space") or AUTO,
            "labels": _labels_of(typed.one("labels")),
            **{name: value for name, value in options.items() if value is not None},
        }

    def _of_schema(self, error: ValidationError) -> dict[str, str]:
        found = {}
        for each in reversed(error.errors()):  # The first mistake of a field is shown.
            place, *rest = map(str, each["loc"] or (WHOLE_FORM,))
            if place == "params" and rest:
                place = _of_parameter(self.workload, rest[0])
            text = sentence(each["msg"].removeprefix("Value error, "))
            found[place] = _MESSAGES.get(place, text)
        return found

    def _spaces(self) -> tuple[tuple[Scalar, str], ...]:
        try:
            auto = f"auto: {self._catalog.space().name} on this machine"
        except MachineUnknown:
            auto = "auto: chosen for this machine"
        return ((AUTO, auto), *((name, name) for name in ready_made()))


def _of_parameter(workload: str, name: str) -> str:
    return f"params.{workload}.{name}"


def _labels_of(text: str) -> dict[str, str]:
    """Return the labels of `name=text, name=text`; what is odd is left for others to refuse."""
    parts = (each.partition("=") for each in text.split(",") if each.strip())
    return {name.strip(): value.strip() for name, _, value in parts}
