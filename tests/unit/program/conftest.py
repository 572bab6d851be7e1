"""The option that rewrites the golden programs, and functions of the library."""

import ast
from typing import Any

import pytest

from autotune.library import FOLDER


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden programs")


def of_library(module: str, name: str, **names: object) -> Any:
    """Return a function of the library without what its module imports, which takes seconds."""
    text = (FOLDER / f"{module}.py").read_text(encoding="utf-8")
    parts = [each for each in ast.parse(text).body if getattr(each, "name", "") == name]
    tree = ast.Module([*ast.parse("from __future__ import annotations").body, *parts], [])
    exec(compile(tree, f"{module}.py", "exec"), names)  # noqa: S102 - our own text
    return names[name]
