"""The options of a search, each declared once.

The Python call, the command line, the REST body, the page's form and the reference page are all
made from `SearchOptions`: a new option is a new field here, and code that acts on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from autotune.base import WHOLE, Described
from autotune.errors import UsageError, requirement
from autotune.text import as_text, hint, one_line, parse_seconds

MARGIN = 0.03
"""A gain below this share has no practical relevance, unless the user says so."""
SCRIPT_SEED = 0
"""Seed of the training inside every trial; the search's own seed must not change what is timed."""
LONGEST_SECONDS = 365 * 24 * 3600.0
"""A year: a longer time for a training is taken for a mistake."""
AUTO = "auto"
"""Where a length of time is expected as text: none is set."""
Group = Literal["Search", "Bounds"]
"""What an option is about; the command line shows each group as a panel."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is declared of an option beside its type, default, bounds and description."""

    group: Group
    metavar: str | None = None
    """Stands for its value in the help of the command line."""
    unset: str | None = None
    """Stands for no value, as text."""


def _seconds(given: Any) -> Any:
    if given is None or given == AUTO:
        return None
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise _mistake("This is not a duration.", "Use a format such as 90s, 3min or 1h30min.")
    try:
        return parse_seconds(given)
    except UsageError as exc:
        raise _mistake(exc.cause, exc.next_step) from exc
    except OverflowError as exc:
        raise _mistake("The number is too large.", "Use a format such as 90s or 3min.") from exc


def _within_a_year(seconds: float | None) -> float | None:
    if seconds and seconds > LONGEST_SECONDS:
        cause = f"A training of {seconds / 3600:,.0f} hours is longer than a year."
        raise _mistake(cause, "Use what it takes by your own settings, such as 6h.")
    return seconds


def names(given: Any) -> Any:
    """Return the names of a comma-separated text, and anything else as it is."""
    if not isinstance(given, str):
        return given
    return tuple(part.strip() for part in given.split(",") if part.strip())


def _counts(given: Any) -> Any:
    parts = names(given)
    if isinstance(given, str):
        if not parts or not all(part.isascii() and part.isdecimal() for part in parts):
            raise _mistake(f"{given!r} is not a list of integers.", "For example: 1,2,4.")
        return tuple(map(int, parts))
    return parts


def _once(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(given))


def _mistake(cause: str, next_step: str) -> PydanticCustomError:
    context = {"cause": cause, "next_step": next_step}
    return PydanticCustomError("option", "{cause} {next_step}", context)


_TEXT = {"type": "string", "maxLength": 20}
_DURATION = {"anyOf": [_TEXT, {"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}
_AS_DURATION = WithJsonSchema(_DURATION, mode="validation")
Budget = Annotated[float | None, BeforeValidator(_seconds), _AS_DURATION]
"""A length of time in seconds, also one written as `90s`, `3min` or `1h30min`."""
TrainingTime = Annotated[Budget, AfterValidator(_within_a_year)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
# The bounds come first, so that the JSON schema tells them.
Count = Annotated[int, Field(ge=1, le=2**31), WHOLE]
Names = Annotated[
    tuple[str, ...], Field(max_length=64), BeforeValidator(names), AfterValidator(_once)
]
"""Names, also ones written as `a,b`."""
Counts = Annotated[
    tuple[Count, ...],
    Field(min_length=1, max_length=64),
    BeforeValidator(_counts),
    AfterValidator(_once),
]
"""Whole numbers above 0, also ones written as `1,2,4`."""

_SEARCH = Option(group="Search")
_BOUNDS = Option(group="Bounds")


class SearchOptions(Described):
    """How long to search, within which bounds, and what counts as a gain.

    Raises:
        UsageError: A value is out of bounds, or no option has this name.
    """

    budget: Annotated[Budget, Option(group="Search", metavar="DURATION", unset=AUTO)] = None
    """Time limit of the whole search: 90s, 3min or 1h30min; auto searches as long as it pays."""
    train_for: Annotated[TrainingTime, Option(group="Search", metavar="DURATION", unset=AUTO)] = (
        None
    )
    """Time that all runs of the training take by your own settings: 6h; auto goes by its epochs."""
    epochs: Annotated[Count | None, _SEARCH] = None
    """Number of epochs of the training, in place of what the script says."""
    max_trials: Annotated[Annotated[int, Field(ge=1, le=10_000), WHOLE] | None, _SEARCH] = None
    """Maximum number of trials."""
    margin: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False, strict=True), _SEARCH] = MARGIN
    """Minimum relative gain for which distribution is recommended."""
    profile: Annotated[StrictBool, _SEARCH] = False
    """Profile where the step time goes once the answer stands, however short the training is."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), WHOLE, _SEARCH] = 0
    """Random seed of the search; training inside the trials has its own."""
    sampler: Annotated[
        Literal["auto", "tpe", "gp", "random"], Option(group="Search", metavar="NAME")
    ] = "auto"
    """Who proposes the trials: auto, or one of Optuna's samplers; gp needs torch."""
    objective: Annotated[str, Field(max_length=100), Option(group="Search", metavar="NAME")] = (
        "time_to_loss"
    )
    """What to optimize: time_to_loss, throughput, max_throughput or cost."""
    price: Annotated[Amount | None, _SEARCH] = None
    """Price of a device for an hour, so that the report tells what an epoch costs."""
    epoch_in: Annotated[Budget, Option(group="Search", metavar="DURATION")] = None
    """Time that an epoch is to take at most; the result says how many machines that takes."""
    global_batch: Annotated[Count | None, _BOUNDS] = None
    """Fixed global batch size: examples per step over all replicas."""
    max_global_batch: Annotated[Count | None, _BOUNDS] = None
    """Maximum global batch size."""
    max_memory: Annotated[Amount | None, _BOUNDS] = None
    """Memory in GiB that the processes of a trial may hold; default: 80 % of what is free."""
    strategies: Annotated[Names | None, Option(group="Bounds", metavar="A,B")] = Field(
        default=None,
        description="Strategies that are tried, beside one device; default: all in the space.",
    )
    workers: Annotated[Counts | None, Option(group="Bounds", metavar="1,2,4")] = Field(
        default=None,
        description="Counts of workers that are tried: processes, each with an input pipeline of "
        "its own; default: those in the space.",
    )
    allow_asynchronous: Annotated[StrictBool, _BOUNDS] = False
    """Include asynchronous strategies, which change convergence."""
    examples: Annotated[Count | None, _BOUNDS] = None
    """Number of examples in an epoch, for a dataset that never ends; default: counted."""
    unbatch: Annotated[StrictBool, _BOUNDS] = False
    """Take the batches of a batched dataset apart, so that the batch size can be tuned."""

    if not TYPE_CHECKING:

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as exc:
                raise usage_error(exc) from exc
            _check_strategies(self.strategies, "strategies")

        # So that a value within another one is validated by pydantic, which tells where it stands.
        __init__.__pydantic_base_init__ = True

    @property
    def bounds(self) -> str:
        """The bounds as JSON; a study is continued only with the same ones."""
        names = {each.name for each in declared() if each.group == "Bounds"}
        return self.model_dump_json(include=names)


def _documented() -> str:
    """Return the docstring of the options, with a line for each of them."""
    head, _, raises = inspect.cleandoc(SearchOptions.__doc__ or "").partition("Raises:")
    fields = SearchOptions.model_fields.items()
    rows = "\n".join(f"    {name}: {one_line(field.description or '')}" for name, field in fields)
    return f"{head}Args:\n{rows}\n\nRaises:{raises}"


# What `help` shows: pydantic's own signature holds the validators of each field.
SearchOptions.__doc__ = _documented()
SearchOptions.__signature__ = inspect.Signature(
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
        for name, field in SearchOptions.model_fields.items()
    ]
)


@dataclass(frozen=True, kw_only=True)
class Declared(Option):
    """An option as it is declared, for whoever offers it to users."""

    name: str
    description: str
    default: Any
    kind: str
    """`boolean`, `integer`, `number`, `array` or `duration`."""
    minimum: float | None
    maximum: float | None

    @property
    def flag(self) -> str:
        return flag(self.name)

    @property
    def flags(self) -> str:
        """Its name, and the one that turns it off if it is on by default."""
        return f"{self.flag}/{flag(f'no_{self.name}')}" if self.default is True else self.flag

    def text_of(self, value: Any) -> str:
        if value is None:
            return self.unset or ""
        if self.kind == "duration":
            return as_text(value)
        if isinstance(value, tuple):
            return ",".join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value).lower()


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@cache
def declared() -> tuple[Declared, ...]:
    schema = SearchOptions.model_json_schema()["properties"]
    return tuple(_declared(name, schema[name]) for name in SearchOptions.model_fields)


def _declared(name: str, schema: dict[str, Any]) -> Declared:
    field = SearchOptions.model_fields[name]
    (option,) = (each for each in field.metadata if isinstance(each, Option))
    types = [each for each in schema.get("anyOf", [schema]) if each["type"] != "null"]
    return Declared(
        name=name,
        group=option.group,
        metavar=option.metavar,
        unset=option.unset,
        description=one_line(field.description or ""),
        default=field.default,
        kind="duration" if len(types) > 1 else types[0]["type"],
        minimum=types[0].get("minimum"),
        maximum=types[0].get("maximum"),
    )


def usage_error(error: ValidationError, spelled: Callable[[str], str] = str) -> UsageError:
    """Return what is wrong with the first mistaken option, spelled as the user wrote it."""
    first = error.errors()[0]
    name, *rest = map(str, first["loc"] or ("options",))
    place = " ".join([spelled(name), *rest])
    match first:
        case {"type": "option", "ctx": {"cause": str(cause), "next_step": str(next_step)}}:
            return UsageError(f"{place}: {cause}", next_step)
        case {"type": "extra_forbidden"}:
            known = [each.name for each in declared()]
            return UsageError(f"There is no option {name}.", hint(name, known))
    given = first["input"]
    message = "" if isinstance(given, tuple | list | dict) else f", not {given!r}"
    return UsageError(f"{place}: {requirement(first['msg'])}{message}.")


def options_from(given: dict[str, Any]) -> SearchOptions:
    try:
        options = SearchOptions.model_validate(given)
    except ValidationError as exc:
        raise usage_error(exc, flag) from exc
    _check_strategies(options.strategies, flag("strategies"))
    return options


def _check_strategies(names: tuple[str, ...] | None, option: str) -> None:
    # Here, so that the options are declared without what strategies need.
    from autotune.strategies import strategies  # noqa: PLC0415 - see above

    for name in names or ():
        if name not in strategies():
            raise UsageError(f"{option}: Unknown strategy {name!r}.", hint(name, strategies()))
