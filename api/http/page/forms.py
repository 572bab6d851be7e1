"""The form that asks for a job: fields from JSON schemas, what was typed, and its mistakes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from pydantic import StrictInt, TypeAdapter, ValidationError
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request

from autotune.api.errors import InvalidBudget, ServiceError
from autotune.api.http.service import Service
from autotune.api.requests import JobRequest, Number, check_budget
from autotune.objective import OBJECTIVES
from autotune.options import SearchOptions, declared
from autotune.space import AUTO, ready_made
from autotune.strategies import strategies
from autotune.text import roughly, sentence
from autotune.value import Scalar

Schema = Mapping[str, Any]
WHOLE_FORM = ""
_FIELD_OF: Mapping[str, str] = {
    "unknown-workload": "workload",
    "invalid-space": "space",
    "space-not-runnable": "space",
    "invalid-budget": "budget",
    "invalid-option": "strategies",
}
_OF_LABELS = "Write name=text, each of letters, digits and . _ - /, and at most 63 of them."
_NUMBER = TypeAdapter[int | float](StrictInt | Number)
_NUMBERS = ("integer", "number")


async def typed_of(request: Request) -> QueryParams:
    """Return the fields of a form; an empty one counts as left out."""
    try:
        text = (await request.body()).decode("ascii")
        found = parse_qsl(text, errors="strict", max_num_fields=500)
    except ValueError as exc:
        raise HTTPException(400, "There was an error parsing the body") from exc
    return QueryParams([(name, value.strip()) for name, value in found])


def once(typed: QueryParams, asked: JobRequest) -> str | None:
    """Return the key by which the same form with the same content makes no second job."""
    found = typed.get("once", "")
    return f"{found}.{asked.fingerprint}" if re.fullmatch(r"[\w-]{16,64}", found) else None


@dataclass(frozen=True, kw_only=True)
class Field:
    name: str
    label: str
    kind: str = "string"
    value: str = ""
    hint: str = ""
    error: str = ""
    options: tuple[tuple[Scalar, str], ...] = ()
    """Values to choose from, and what they are called."""
    required: bool = False

    def given(self, text: str) -> Scalar | None:
        """Return what a text stands for, None for nothing; others refuse what is none of it."""
        if self.options:
            return next((each for each, _ in self.options if str(each) == text), text or None)
        if self.kind == "boolean":
            return bool(text)
        return (_number(text) if self.kind in _NUMBERS else text) if text else None

    def filled(self, name: str, typed: QueryParams | None, mistakes: Mapping[str, str]) -> Field:
        """Return the field under a name, with what was typed and what is wrong with that."""
        value = self.value if typed is None else typed.get(name, "")
        return replace(self, name=name, value=value, error=mistakes.get(name, ""))


def _number(text: str) -> Scalar:
    try:
        return _NUMBER.validate_json(text)
    except ValidationError:
        return text


def fields_of(schema: Schema) -> tuple[Field, ...]:
    required = schema.get("required", ())
    return tuple(
        _field(name, _plain(each, schema), required=name in required)
        for name, each in schema.get("properties", {}).items()
    )


def _field(name: str, schema: Schema, *, required: bool) -> Field:
    default = schema.get("default")
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if choices and not required and default is None:
        choices = ["", *choices]
    return Field(
        name=name,
        label=name.replace("_", " ").capitalize(),
        kind=str(schema.get("type")),
        value="" if default is None or (default is False and not choices) else str(default),
        hint=" ".join(filter(None, [schema.get("description"), _bounds(schema)])),
        options=tuple((each, _called(each)) for each in choices),
        required=required,
    )


def _called(choice: Scalar) -> str:
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    return str(choice) or "(none)"


def _bounds(schema: Schema) -> str:
    names = ("minimum", "maximum", "exclusiveMinimum")
    low, high, above = (f"{schema[name]:,.15g}" if name in schema else "" for name in names)
    if low and high:
        return f"{low} to {high}."
    if low:
        return f"At least {low}."
    return f"At most {high}." if high else f"Above {above}." if above else ""


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
    choices: dict[str, tuple[Scalar, ...]] = {"objective": tuple(OBJECTIVES)}
    choices |= {each.name: (True, False) for each in declared() if each.kind == "boolean"}
    for name, found in choices.items():
        schema["properties"][name]["enum"] = found
    return tuple(each for each in fields_of(schema) if each.name not in ("budget", "strategies"))


class Form:
    def __init__(self, service: Service, typed: QueryParams | None = None) -> None:
        self._quotas = service.settings.quotas
        self.typed = typed
        self.once = secrets.token_urlsafe(18)
        """Sent along, so that a form that is sent twice starts one job."""
        self.mistakes: Mapping[str, str] = {}
        """What is wrong, by the name of the field; what belongs to none has an empty name."""
        self.workloads = dict(sorted(service.registry.items()))
        first = next(iter(self.workloads), "")
        self.workload = first if typed is None else typed.get("workload", "")
        self.strategies = {name: each.title for name, each in strategies().items()}
        self.wanted: list[str] = [] if typed is None else typed.getlist("strategies")

    def fields(self, workload: str) -> list[Field]:
        found, typed = self.workloads.get(workload), self.typed
        named = fields_of(found.parameters.model_json_schema()) if found else ()
        prefix = _of_parameter(workload, "")
        if workload != self.workload and not any(each.startswith(prefix) for each in typed or ()):
            typed = None  # What was not sent with another workload's form keeps its default.
        return [each.filled(prefix + each.name, typed, self.mistakes) for each in named]

    @property
    def usual(self) -> list[Field]:
        budget = next(each for each in declared() if each.name == "budget")
        low, high = roughly(self._quotas.shortest_budget), roughly(self._quotas.longest_budget)
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
                options=(
                    (AUTO, "auto: chosen for the machine"),
                    *((name, name) for name in ready_made()),
                ),
                hint="Strategies, batch sizes and input settings to try.",
            ),
            Field(name="labels", label="Labels", hint="To find the job by: team=vision, sprint=7."),
        )
        return [each.filled(each.name, self.typed, self.mistakes) for each in fields]

    @property
    def rarer(self) -> list[Field]:
        return [each.filled(each.name, self.typed, self.mistakes) for each in rarer_options()]

    def request(self) -> JobRequest | None:
        """Return the request that the form stands for; None if there are mistakes in it."""
        given, asked = self._given(), None
        registered = self.workloads.get(self.workload)
        wrong = registered.mistakes(given["params"]) if registered else {}
        self.mistakes = {_of_parameter(self.workload, name): text for name, text in wrong.items()}
        try:
            asked = JobRequest.model_validate(given)
            check_budget(asked.budget, self._quotas)
        except ValidationError as exc:
            self.mistakes = {**self._of_schema(exc), **self.mistakes}
        except InvalidBudget as exc:
            self.refused(exc)
        return None if self.mistakes else asked

    def refused(self, error: ServiceError) -> None:
        place = _FIELD_OF.get(error.kind, WHOLE_FORM)
        self.mistakes = {**self.mistakes, place: str(error)}

    def _given(self) -> dict[str, Any]:
        typed = self.typed or QueryParams()
        fields = self.fields(self.workload)
        params = {each.name.rpartition(".")[2]: each.given(each.value) for each in fields}
        given: dict[str, Any] = {
            "workload": self.workload,
            "params": {name: value for name, value in params.items() if value is not None},
            "space": typed.get("space", AUTO),
            "budget": typed.get("budget"),
            "labels": _labels_of(typed.get("labels", "")),
            "strategies": self.wanted or None,
            **{each.name: each.given(typed.get(each.name, "")) for each in rarer_options()},
        }
        return {name: value for name, value in given.items() if value is not None}

    def _of_schema(self, error: ValidationError) -> dict[str, str]:
        found = {}
        for each in reversed(error.errors()):  # The first mistake of a field is shown.
            place, *rest = map(str, each["loc"] or (WHOLE_FORM,))
            if place == "params" and rest:
                place = _of_parameter(self.workload, rest[0])
            text = sentence(each["msg"].removeprefix("Value error, "))
            found[place] = _OF_LABELS if place == "labels" else text
        return found


def _of_parameter(workload: str, name: str) -> str:
    return f"params.{workload}.{name}"


def _labels_of(text: str) -> dict[str, str]:
    """Return the labels of `name=text, name=text`; what is odd is left for others to refuse."""
    parts = (each.partition("=") for each in text.split(",") if each.strip())
    return {name.strip(): value.strip() for name, _, value in parts}
