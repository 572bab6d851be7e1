"""What `autotune` offers to its users."""

import ast
import inspect
import typing
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from pydantic import BaseModel

import autotune

EXPORTED = {name: getattr(autotune, name) for name in autotune.__all__}
HOMES = {each.__module__ for each in EXPORTED.values() if hasattr(each, "__module__")} | set(
    autotune._HOME.values()
)
"""What belongs to an exported type is public too, in its module."""


def types_in(hint: object) -> Iterator[type]:
    for part in typing.get_args(hint):
        yield from types_in(part)
    found = typing.get_origin(hint) or hint
    if isinstance(found, type):
        yield found


def hints_of(what: Any) -> Iterator[object]:
    """Yield the annotations that somebody meets who uses a type or calls a function."""
    names = {**EXPORTED, **{each.__name__: each for each in (BasePruner, BaseSampler, BaseStorage)}}
    if inspect.isfunction(what):
        yield from typing.get_type_hints(what, {**what.__globals__, **names}).values()
    elif isinstance(what, type) and issubclass(what, BaseModel):
        yield from (field.annotation for field in what.model_fields.values())
    elif isinstance(what, type):
        public = (n for n in vars(what) if not n.startswith("_") or n == "__init__")
        for each in filter(inspect.isfunction, (vars(what)[name] for name in public)):
            yield from hints_of(each)
    else:
        yield what


@pytest.mark.parametrize("name", autotune.__all__)
def test_every_type_that_a_user_meets_is_public(name: str) -> None:
    """It is exported itself, or stands in the module of a type that is."""
    for hint in hints_of(EXPORTED[name]):
        for found in types_in(hint):
            if found.__module__.startswith("autotune") and found not in EXPORTED.values():
                assert found.__module__ in HOMES, found


@pytest.mark.parametrize("name", autotune.__all__)
def test_every_public_name_and_method_says_what_it_is(name: str) -> None:
    """The reference is made from the docstrings; ruff cannot tell what is exported."""
    what = EXPORTED[name]
    if isinstance(what, type) or inspect.isfunction(what):
        assert inspect.getdoc(what)
    for own, each in vars(what).items() if isinstance(what, type) else ():
        if not own.startswith("_") and isinstance(each, FunctionType | property):
            assert inspect.getdoc(each), own


def test_type_checkers_see_the_same_names() -> None:
    """The stub imports each public name from the module where it stands."""
    stub = Path(autotune.__file__).with_suffix(".pyi").read_text("utf-8")
    imports = [each for each in ast.parse(stub).body if isinstance(each, ast.ImportFrom)]
    found = {name.asname: each.module for each in imports for name in each.names}
    assert found == autotune._HOME


def test_the_version_is_the_installed_one() -> None:
    assert autotune.__version__ == version("autotune-keras")
