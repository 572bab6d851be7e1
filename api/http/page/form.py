"""The form that asks for a job: what is on it, what was typed, and what is wrong with that."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from autotune.api.catalog import Catalog
from autotune.api.errors import (
    InvalidBudget,
    InvalidTuning,
    MachineUnknown,
    QuotaExceeded,
    ServiceError,
)
from autotune.api.http.page.fields import Control, Field, Option, Parameter, Typed, parameters
from autotune.api.requests import JobRequest, check_budget
from autotune.objective import objective_names
from autotune.options import Declared, SearchOptions, declared
from autotune.space import AUTO, ready_made
from autotune.strategies import strategies
from autotune.value import Scalar
from autotune.wording import roughly, sentence

Mistakes = Mapping[str, str]
"""What is wrong, by the name of the field; what belongs to none has an empty name."""
NO_MISTAKES: Mistakes = MappingProxyType({})
WHOLE_FORM = ""
_FIELD_OF: Mapping[str, str] = {
    "unknown-workload": "workload",
    "invalid-space": "space",
    "space-not-runnable": "space",
    "invalid-budget": "budget",
    "invalid-option": "strategies",
}
"""Where an error of the service is shown, by its kind."""
_TOLD: Mapping[str, str] = {
    "labels": "Write name=text, each of letters, digits and . _ - /, and at most 63 of them."
}
"""What is said of a field, whatever is wrong with it."""
_APART = ("budget", "strategies")
"""Options with a place of their own on the form."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A workload to choose, with the fields of its parameters."""

    name: str
    description: str
    chosen: bool
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class FormView:
    """The form as it stands."""

    once: str
    """Sent along, so that a form that is sent twice starts one job."""
    problem: str
    """What is wrong with the whole of it."""
    workloads: tuple[Choice, ...]
    workload_error: str
    usual: tuple[Field, ...]
    rarer: tuple[Field, ...]
    strategies: tuple[Option, ...]
    strategies_error: str
    open: bool
    """Whether the rarer fields are in sight."""
    mistakes: int


class FormError(Exception):
    """Something in the form is wrong.

    Args:
        mistakes: What, by field.
        status: What HTTP calls it.
    """

    def __init__(self, mistakes: Mistakes, status: int = 422) -> None:
        super().__init__("; ".join(mistakes.values()))
        self.mistakes = mistakes
        self.status = status


def parameter_field(workload: str, name: str) -> str:
    """Return the name of a parameter's field; each workload has fields of its own."""
    return f"params.{workload}.{name}"


def asked_from(typed: Typed, catalog: Catalog) -> JobRequest:
    """Return the request that a form stands for.

    Raises:
        FormError: Something in it is wrong.
    """
    workload = typed.one("workload")
    request = _request(typed, workload, _parameters(catalog, workload))
    registered = catalog.workloads.get(workload)
    wrong = registered.mistakes(request["params"]) if registered else {}
    told = {parameter_field(workload, name): text for name, text in wrong.items()}
    try:
        asked = JobRequest.model_validate(request)
    except ValidationError as exc:
        raise FormError({**_of_schema(exc, workload), **told}) from exc
    told |= _of_budget(asked.budget, catalog)
    if told:
        raise FormError(told)
    return asked


def of_service(error: ServiceError) -> FormError:
    """Return what a form shows for an error of the service.

    Raises:
        ServiceError: It has nothing to do with the form.
    """
    if not isinstance(error, InvalidTuning | QuotaExceeded):
        raise error
    status = 429 if isinstance(error, QuotaExceeded) else 422
    return FormError({_FIELD_OF.get(error.kind, WHOLE_FORM): str(error)}, status)


def repeatable(typed: Typed, asked: JobRequest) -> str | None:
    """Return the key by which the same form with the same content makes no second job."""
    once = typed.one("once")
    return f"{once}.{asked.fingerprint}" if re.fullmatch(r"[\w-]{16,64}", once) else None


def form_view(
    catalog: Catalog, typed: Typed | None = None, mistakes: Mistakes = NO_MISTAKES
) -> FormView:
    """Return the form for a caller, with what was typed and what is wrong with it."""
    names = sorted(catalog.workloads)
    chosen = typed.one("workload") if typed else next(iter(names), "")
    wanted = typed.all("strategies") if typed else ()
    rarer = ("strategies", *(each.name for each in _options()))
    return FormView(
        once=secrets.token_urlsafe(18),
        problem=mistakes.get(WHOLE_FORM, ""),
        workloads=tuple(_choice(catalog, each, chosen, typed, mistakes) for each in names),
        workload_error=mistakes.get("workload", ""),
        usual=_usual(catalog, typed, mistakes),
        rarer=tuple(
            each.field(each.name, typed, mistakes.get(each.name, "")) for each in _options()
        ),
        strategies=tuple(
            Option(value=name, label=each.title, chosen=name in wanted)
            for name, each in strategies().items()
        ),
        strategies_error=mistakes.get("strategies", ""),
        open=bool(typed) and any(name in mistakes or _is_set(typed, name) for name in rarer),
        mistakes=len(mistakes),
    )


def _is_set(typed: Typed | None, name: str) -> bool:
    default = SearchOptions.model_fields[name].default
    return bool(typed and typed.one(name) not in ("", str(default)))


def _parameters(catalog: Catalog, workload: str) -> tuple[Parameter, ...]:
    found = catalog.workloads.get(workload)
    return parameters(found.parameters.model_json_schema()) if found else ()


def _request(typed: Typed, workload: str, found: tuple[Parameter, ...]) -> dict[str, Any]:
    params = {each.name: each.given(typed, parameter_field(workload, each.name)) for each in found}
    options = {each.name: each.given(typed, each.name) for each in _options()}
    budget, strategies = typed.one("budget"), typed.all("strategies")
    sent = {"budget": budget or None, "strategies": strategies or None, **options}
    return {
        "workload": workload,
        "params": {name: value for name, value in params.items() if value is not None},
        "space": typed.one("space") or AUTO,
        "labels": _labels_of(typed.one("labels")),
        **{name: value for name, value in sent.items() if value is not None},
    }


def _labels_of(text: str) -> dict[str, str]:
    """Return the labels of `name=text, name=text`; what is odd is left for others to refuse."""
    parts = (each.partition("=") for each in text.split(",") if each.strip())
    return {name.strip(): value.strip() for name, _, value in parts}


@cache
def _options() -> tuple[Parameter, ...]:
    """Return the options of a search that are seldom needed, as they are declared."""
    schema = SearchOptions.model_json_schema()
    # A box that is not ticked could not be told from one that was not sent.
    choices: dict[str, tuple[Scalar, ...]] = {"objective": objective_names()}
    choices |= {each.name: (True, False) for each in declared() if each.kind == "boolean"}
    for name, found in choices.items():
        schema["properties"][name]["enum"] = found
    return tuple(each for each in parameters(schema) if each.name not in _APART)


def _of_schema(error: ValidationError, workload: str) -> dict[str, str]:
    return {
        (place := _place(each["loc"], workload)): _TOLD.get(place)
        or sentence(each["msg"].removeprefix("Value error, "))
        for each in reversed(error.errors())  # The first mistake of a field is the one to tell.
    }


def _of_budget(budget: float | None, catalog: Catalog) -> dict[str, str]:
    try:
        check_budget(budget, catalog.quotas)
    except InvalidBudget as exc:
        return {"budget": str(exc)}
    return {}


def _place(location: tuple[int | str, ...], workload: str) -> str:
    match location:
        case ("params", str(name), *_):
            return parameter_field(workload, name)
        case (str(name), *_):
            return name
    return WHOLE_FORM


def _choice(
    catalog: Catalog, name: str, chosen: str, typed: Typed | None, mistakes: Mistakes
) -> Choice:
    fields = []
    for each in _parameters(catalog, name):
        field = parameter_field(name, each.name)
        # What was not sent with another workload's form keeps its default.
        sent = typed if typed and (name == chosen or field in typed.values) else None
        fields.append(each.field(field, sent, mistakes.get(field, "")))
    return Choice(
        name=name,
        description=catalog.workloads[name].description,
        chosen=name == chosen,
        fields=tuple(fields),
    )


def _usual(catalog: Catalog, typed: Typed | None, mistakes: Mistakes) -> tuple[Field, ...]:
    quotas = catalog.quotas
    low, high = roughly(quotas.shortest_budget), roughly(quotas.longest_budget)
    budget = Field(
        name="budget",
        label="Budget",
        control=Control.TEXT,
        value=typed.one("budget") if typed else _budget().text_of(_budget().default),
        hint=f"{_budget().description} Here {low} to {high}.",
        error=mistakes.get("budget", ""),
    )
    space = Field(
        name="space",
        label="Search space",
        control=Control.SELECT,
        options=_spaces(catalog, typed.one("space") if typed else AUTO),
        hint="Strategies, batch sizes and input settings to try.",
        error=mistakes.get("space", ""),
    )
    labels = Field(
        name="labels",
        label="Labels",
        control=Control.TEXT,
        value=typed.one("labels") if typed else "",
        hint="To find the job by: team=vision, sprint=7.",
        error=mistakes.get("labels", ""),
    )
    return budget, space, labels


def _budget() -> Declared:
    return next(each for each in declared() if each.name == "budget")


def _spaces(catalog: Catalog, chosen: str) -> tuple[Option, ...]:
    try:
        auto = f"auto: {catalog.space().name} on this machine"
    except MachineUnknown:
        auto = "auto: chosen for this machine"
    labels = {AUTO: auto, **{name: name for name in ready_made()}}
    return tuple(
        Option(value=name, label=label, chosen=name == chosen) for name, label in labels.items()
    )
