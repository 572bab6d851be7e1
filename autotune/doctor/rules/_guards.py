"""Code that runs only where a name is there, or only with some versions."""

from __future__ import annotations

import ast
import re

from autotune.doctor.code import Module

_MISSING = {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception"}
_ASKS = re.compile(
    r"hasattr\(|getattr\(|version|(?<![a-z])(tf|keras)_?[123](?![a-z0-9])|tf2\.enabled"
    r"|tf_?ver|v[12]_behavior|executing_eagerly"
)
"""In the text of a condition, in lower case."""
_Branch = ast.If | ast.IfExp


def is_guarded(module: Module, node: ast.AST) -> bool:
    """Return whether the code expects that something at a node may be missing."""
    below = node
    for each in module.tree.above(node):
        if isinstance(each, ast.Try) and _expects(each) and below not in each.finalbody:
            return True
        if isinstance(each, _Branch) and below is not each.test and _asks(each.test):
            return True
        below = each
    return _leaves_before(module, node)


def _leaves_before(module: Module, node: ast.AST) -> bool:
    """Return whether a function returns or raises, by a version, before it reaches a node."""
    function = module.tree.function_of(node)
    body = getattr(function, "body", None)
    line = getattr(node, "lineno", 0)
    before = [each for each in body if each.lineno < line] if isinstance(body, list) else []
    return any(map(_may_leave, before))


def _may_leave(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        last = statement.body[-1]
        return isinstance(last, ast.Return | ast.Raise) and _asks(statement.test)
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and _asks(value.func)


def _asks(test: ast.expr) -> bool:
    return bool(_ASKS.search(ast.unparse(test).lower()))


def _expects(node: ast.Try) -> bool:
    """Return whether a handler is for names that are missing; it holds what is used instead."""
    caught = {
        name.id
        for handler in node.handlers
        if handler.type is not None
        for name in ast.walk(handler.type)
        if isinstance(name, ast.Name)
    }
    return bool(caught & _MISSING) or any(each.type is None for each in node.handlers)
