"""What the text of a factory tells of it before anything of the user's is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from autotune.errors import FactoryNotFound
from autotune.text import closest

_HIDING = ("exec", "globals", "setattr", "vars", "__getattr__")
"""What may give a module names that its text does not show."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def check_name(file: Path, name: str) -> None:
    """Make sure that a file has a name, as far as its text tells."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError as exc:
        raise FactoryNotFound(
            f"{file} cannot be imported: SyntaxError: {exc.msg} (line {exc.lineno}).",
            "Fix the file so that it can be imported.",
        ) from exc
    except (OSError, ValueError):
        return  # It is reported when it is imported.
    bound = {*bound_names(tree)}
    if name.partition(".")[0] in bound or _hides(tree):
        return
    close = closest(name, bound)
    own = [each.name for each in tree.body if isinstance(each, _FUNCTIONS)]
    raise FactoryNotFound(
        f"{file} has no {name!r}.",
        f"Did you mean {' or '.join(close)}?"
        if close
        else f"It has {', '.join(own[:8]) or 'no functions'}.",
    )


def parameters_in(text: str, name: str) -> tuple[str, ...] | None:
    """Return the parameters that a text declares for a function; None where it does not tell.

    A decorator may change them, and who takes any keyword has no list.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    defined = [each for each in ast.walk(tree) if isinstance(each, _FUNCTIONS)]
    named = [each for each in defined if each.name == name]
    if len(named) != 1 or named[0] not in tree.body or [*bound_names(tree)].count(name) != 1:
        return None
    function = named[0]
    if function.decorator_list or function.args.kwarg or _hides(tree):
        return None
    return tuple(each.arg for each in (*function.args.args, *function.args.kwonlyargs))


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a module binds, by whatever statement outside of functions."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
            yield each.name
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        if isinstance(each, ast.alias):
            yield (each.asname or each.name).partition(".")[0]
        yield from bound_names(each)


def _hides(tree: ast.Module) -> bool:
    nodes = [*ast.walk(tree)]
    stars = any(isinstance(each, ast.alias) and each.name == "*" for each in nodes)
    # What a function binds outside, and what patterns of `match` do.
    others = any(isinstance(each, ast.Global | ast.Match) for each in nodes)
    names = {each.id for each in nodes if isinstance(each, ast.Name)}
    names |= {each.name for each in nodes if isinstance(each, _FUNCTIONS)}
    return stars or others or not names.isdisjoint(_HIDING)
