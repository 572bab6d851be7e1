"""The Python reference: a page for each public name, from its docstring."""

import inspect
from collections.abc import Iterator, Mapping

import autotune
from autotune.options import Declared, declared
from tools.docs.pages import page, table

SOURCE = "autotune/__init__.py"
MODULES = {
    "autotune.reason": "The kinds of a `Reason`.",
    "autotune.engine.base": "The arguments and answers of an `Engine`.",
    "autotune.engine.tasks": "A training to be run, tasks that are made of one, and inspections.",
    "autotune.engine.trial_run": "One run, and its worker processes, for engines that start them.",
    "autotune.objective": "The objectives of a search.",
}
"""What belongs to the public types and to those who extend autotune."""


_OBJECTS = ("Tuner", "Client")
"""Objects whose methods are calls."""


def pages() -> Mapping[str, str]:
    found = {_name("index"): page(SOURCE, _index(), _name("index"))}
    for each in autotune.__all__:
        found[_name(each)] = page(SOURCE, _lines(each), _name(each))
    for each in MODULES:
        found[_name(each)] = page(each, [f"# {each}", "", f"::: {each}"], _name(each))
    return found


def sections() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {"Calls": [], "Types": [], "Errors": []}
    for each in autotune.__all__:
        value = getattr(autotune, each)
        error = isinstance(value, type) and issubclass(value, Exception)
        call = inspect.isfunction(value) or each in _OBJECTS
        found["Errors" if error else "Calls" if call else "Types"].append(each)
    return {**found, "Modules": list(MODULES)}


def _name(each: str) -> str:
    return f"reference/{each}.md"


def _index() -> Iterator[str]:
    yield from (
        "# Python",
        "",
        "These names are imported from `autotune`, and the last ones from their modules.",
    )
    for head, names in sections().items():
        rows = ((f"[`{each}`]({each}.md)", _sentence(each)) for each in names)
        yield from ("", f"## {head}", "", *table(("name", "meaning"), rows))


def _sentence(each: str) -> str:
    if each in MODULES:
        return MODULES[each]
    value = getattr(autotune, each)
    known = inspect.getdoc(value) if isinstance(value, type) or inspect.isfunction(value) else ""
    return " ".join((known or "").partition("\n\n")[0].split()) or "A type alias."


def _lines(each: str) -> Iterator[str]:
    yield from (f"# {each}", "", f"::: autotune.{each}")
    if each == "SearchOptions":
        # What a description quotes of a constant or an axis is no literal in the source.
        yield from ("    options:", "      members: false", "", "## Options", "")
        rows = map(_row, declared())
        head = ("option", "default", "values", "command line", "what it does")
        yield from table(head, rows)


def _row(option: Declared) -> tuple[str, ...]:
    default = "" if option.default is None else f"`{option.text_of(option.default)}`"
    bounds = "" if option.minimum is None else f", {option.minimum:g} to {option.maximum:g}"
    return (
        f"`{option.name}`",
        default,
        f"{option.kind}{bounds}",
        f"`{option.flags}`",
        option.description,
    )
