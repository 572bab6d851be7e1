"""The text of functions that cannot be imported."""

import functools
import linecache
import math
import sys
from types import ModuleType
from typing import Any

import pytest

from autotune.workload.source import Source, source_of

SIZE = 3
LARGE = list(range(1000))
OBJECT = object()
INFINITE = math.inf

CELL = """
import functools
import json
import math
import os.path
from fractions import Fraction as Ratio

SIZE = 3
OPTIONS = {"name": ["a", 'b "c"'], "none": None}

def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + 1
    return wrapper

def helper(number, factor=SIZE):
    return number * factor

@decorated
def incremented(number):
    return number

def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)

class Base:
    unit: int = SIZE

class Derived(Base):
    def double(self):
        return helper(self.unit, 2)

def local():
    width = 5
    def inside(number: int) -> "Unknown":
        total = helper(number) + incremented(number) + factorial(3) + Derived().double()
        total += len('''one
two''')
        return total + width + len(OPTIONS) + math.floor(Ratio(3, 2)) + len(os.path.sep)
    return inside
"""


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A main program, as a notebook's cell makes one: its functions cannot be imported."""
    lines = CELL.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(CELL), None, lines, "<cell 1>"))
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(compile(CELL, "<cell 1>", "exec"), vars(module))  # noqa: S102 - as a notebook does
    return module


def called(source: Source, *arguments: object) -> Any:
    """Execute a source as a program would, and call its function."""
    module = ModuleType("program")
    text = f"from __future__ import annotations\n{source.text}\nf = ({source.expression})\n"
    exec(text, vars(module))  # noqa: S102 - this is the claim that is tested
    return vars(module)["f"](*arguments)


def helper(number: int) -> int:
    """Stand in a module that can be imported."""
    return number


def test_a_local_function_brings_all_that_it_needs(cell: ModuleType) -> None:
    """Helpers, classes with their bases, decorators, closures, literals, imports; all once."""
    source = source_of(cell.local())
    assert source.missing == ()
    assert source.expression == "inside"
    assert called(source, 2) == cell.local()(2)
    assert source.text.count("def helper") == 1
    assert "json" not in source.text


def test_classes_of_the_main_program_are_found(cell: ModuleType) -> None:
    """No import reaches them, so they bring their text; a class may be a factory itself."""
    assert called(source_of(cell.Derived)).double() == 6


def test_what_can_be_imported_is_imported() -> None:
    source = source_of(lambda: helper(2))
    assert source.text == f"from {__name__} import helper"


def test_lambdas_in_one_line_are_told_apart() -> None:
    one, two = (lambda: 1), (lambda: 1 + 1)  # fmt: skip
    assert [source_of(each).expression for each in (one, two)] == ["lambda: 1", "lambda: 1 + 1"]


def test_a_lambda_may_span_lines() -> None:
    source = source_of(
        lambda number: (
            number  # a comment
            + SIZE
        )
    )
    assert called(source, 1) == 4


def test_a_shadowed_global_is_not_needed() -> None:
    def inside(LARGE: int) -> int:  # noqa: N803 - the name is the point
        return LARGE

    assert source_of(inside).missing == ()


@pytest.mark.parametrize("name", ["LARGE", "OBJECT", "INFINITE"])
def test_values_that_cannot_be_written_are_missing(name: str) -> None:
    functions = {"LARGE": lambda: LARGE, "OBJECT": lambda: OBJECT, "INFINITE": lambda: INFINITE}
    source = source_of(functions[name])
    assert source.missing == (name,)
    assert source.expression == f"lambda: {name}"


def test_a_value_missing_where_a_function_is_defined_hides_the_function() -> None:
    """Such a text would fail as soon as the program starts."""

    def inside(value: object = OBJECT) -> object:
        return value

    assert source_of(inside) == Source(text="", expression="", missing=("inside",))


@pytest.mark.parametrize(
    "odd",
    [len, math.floor, functools.partial(helper, 1), [].append, eval("lambda: 1"), 3, None],  # noqa: S307 - a function without a file
    ids=["builtin", "of C", "partial", "method", "evaluated", "number", "nothing"],
)
def test_odd_functions_have_an_empty_source(odd: Any) -> None:
    source = source_of(odd)
    assert (source.text, source.expression, len(source.missing)) == ("", "", 1)


def test_a_module_beside_the_program_needs_its_folder(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helpers_of_mine.py").write_text("def three():\n    return 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    import helpers_of_mine  # noqa: PLC0415 - made by this test

    source = source_of(lambda: helpers_of_mine.three() + 1)
    assert source.text == "import helpers_of_mine"
    assert source.roots == (("helpers_of_mine", "."),)
