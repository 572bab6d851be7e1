"""Where a function or class is written."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class NotFound(Exception):
    """The text of a function or class is out of reach."""


@dataclass(frozen=True)
class File:
    """A file, or a cell of a notebook."""

    text: str
    tree: ast.Module


@dataclass(frozen=True)
class Place:
    """A function or class in its file."""

    file: File
    name: str
    text: str
    """Its own text, without the indentation."""
    is_lambda: bool


def place_of(thing: Any, beside: File | None = None) -> Place:
    """Find the text of a function or class.

    Args:
        thing: The function or class.
        beside: Where to look for a class that Python cannot place: the main program's, or a
            notebook's, that has no methods.

    Raises:
        NotFound: It is neither, or there is no text for it.
    """
    anchor = _anchor(thing)
    file = _file_of(anchor) or (beside if isinstance(thing, type) else None)
    if file is None:
        raise NotFound(repr(thing))
    if isinstance(thing, type):
        node: _Definition | ast.Lambda = _class(file.tree, thing)
    else:
        node = _function(file.tree, anchor.__code__)
    if isinstance(node, ast.Lambda):
        segment = ast.get_source_segment(file.text, node) or ""
        return Place(file=file, name="<lambda>", text=segment, is_lambda=True)
    return Place(file=file, name=node.name, text=_text_of(file.text, node), is_lambda=False)


def _file_of(anchor: Any) -> File | None:
    try:
        text = "".join(inspect.findsource(anchor)[0])
        return File(text, ast.parse(text))
    except (OSError, TypeError, SyntaxError):
        return None


def _anchor(thing: Any) -> Any:
    """Return what `inspect` can find: for a class, one of its methods.

    Before Python 3.13 a class of the main program's or a notebook's could not be found itself.
    """
    if isinstance(thing, FunctionType):
        return thing
    if not isinstance(thing, type):
        raise NotFound(repr(thing))
    methods = (inspect.unwrap(each) for each in vars(thing).values() if callable(each))
    inside = f"{thing.__qualname__}."
    own = (
        each
        for each in methods
        if isinstance(each, FunctionType) and each.__qualname__.startswith(inside)
    )
    return next(own, thing)


def _class(tree: ast.Module, thing: type) -> ast.ClassDef:
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == thing.__name__
    ]
    if len(found) != 1:
        raise NotFound(thing.__qualname__)
    return found[0]


def _function(tree: ast.Module, code: CodeType) -> _Definition | ast.Lambda:
    found = list(_candidates(tree, code))
    if len(found) > 1:
        positions = {*code.co_positions()}
        found = [
            node
            for node in found
            if isinstance(node, ast.Lambda) and _extent(node.body) in positions
        ]
    if len(found) != 1:
        raise NotFound(code.co_name)
    return found[0]


def _candidates(tree: ast.Module, code: CodeType) -> Iterator[_Definition | ast.Lambda]:
    """Yield what has the function's name and begins in its first line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            name, line = "<lambda>", node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, line = node.name, _first_line(node)
        else:
            continue
        if (name, line) == (code.co_name, code.co_firstlineno):
            yield node


def _extent(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _text_of(text: str, node: _Definition) -> str:
    lines = text.splitlines()[_first_line(node) - 1 : node.end_lineno]
    own = dedent("\n".join(lines))
    try:
        ast.parse(own)
    except SyntaxError:  # a text in it reaches further to the left
        return ast.unparse(node)
    return own
