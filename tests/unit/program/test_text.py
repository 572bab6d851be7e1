"""Pieces of program text."""

from __future__ import annotations

import ast

from hypothesis import given, strategies as st

from autotune.program.text import call, imports_in, literal, paragraph, sections
from autotune.value import Scalar


@given(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()))
def test_a_literal_gives_its_value_back(value: Scalar) -> None:
    assert eval(literal(value), {"float": float}) == value  # noqa: S307 - our own text


def test_a_call_takes_as_few_lines_as_fit() -> None:
    """One line, else one for all arguments, else one for each."""
    assert call("f", [("a", "1")]) == "f(a=1)"
    assert call("f", [("", "x" * 50), ("b", "y" * 42)]).count("\n") == 0
    assert call("f", [("", "x" * 50), ("b", "y" * 42)], before="z = ").count("\n") == 2
    assert call("f", [("", "x" * 50), ("b", "y" * 60)]).count("\n") == 3


@given(st.dictionaries(st.from_regex(r"[a-z]{3,20}", fullmatch=True), st.integers(), max_size=9))
def test_a_call_of_any_length_is_valid(arguments: dict[str, int]) -> None:
    pairs = [(f"{name}_", str(value)) for name, value in arguments.items()]
    tree = ast.parse(call("f", pairs, before="x = ", indent=0))
    assert len(next(n for n in ast.walk(tree) if isinstance(n, ast.Call)).keywords) == len(pairs)


def test_a_paragraph_is_filled_to_the_width() -> None:
    lines = paragraph("word " * 40, indent=4).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("    word") and len(line) <= 100 for line in lines[1:])


def test_imports_are_merged_and_sorted() -> None:
    """The future comes first, then the standard library, then the rest; names are joined."""
    found = imports_in(
        "import keras, tensorflow as tf\nfrom __future__ import annotations\n"
        "from collections.abc import Sequence, Callable\nfrom mine import make as model_fn\n"
        "from mine import model_fn"
    )
    assert sections(found) == (
        "from __future__ import annotations\n\n"
        "from collections.abc import Callable, Sequence\n\n"
        "import keras\nimport tensorflow as tf\n"
        "from mine import make as model_fn\nfrom mine import model_fn"
    )
