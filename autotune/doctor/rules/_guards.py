"""Code that runs only where a name is there, or only with some versions."""

import ast
import re
from collections.abc import Set as AbstractSet

from autotune.doctor import Module

_MISSING = {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception"}
_ASKS = re.compile(
    r"hasattr\(|getattr\(|version|(?<![a-z])(tf|keras)_?[123](?![a-z0-9])|tf2\.enabled"
    r"|tf_?ver|v[12]_behavior|executing_eagerly"
)
"""In the text of a condition, in lower case."""


def is_guarded(module: Module, node: ast.AST) -> bool:
    """Return whether the code expects that something at a node may be missing."""
    conditions = ((it, part) for it, part in module.up(node) if isinstance(it, ast.If | ast.IfExp))
    if any(part is not it.test and _asks(it.test) for it, part in conditions):
        return True
    if is_caught(module, node, _MISSING):
        return True
    body = getattr(module.function_of(node), "body", None)
    line = getattr(node, "lineno", 0)
    before = [it for it in body if it.lineno < line] if isinstance(body, list) else []
    return any(map(_may_leave, before))


def is_caught(module: Module, node: ast.AST, errors: AbstractSet[str]) -> bool:
    """Return whether a handler around a node is for some errors; it holds what is used instead."""
    return any(
        handler.type is None or errors & set(re.findall(r"\w+", ast.unparse(handler.type)))
        for each, part in module.up(node)
        if isinstance(each, ast.Try) and part not in each.finalbody
        for handler in each.handlers
    )


def _may_leave(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=test, body=[*_, ast.Return() | ast.Raise()]):
            return _asks(test)
        case ast.Expr(value=ast.Call(func=func)):
            return _asks(func)
    return False


def _asks(test: ast.expr) -> bool:
    return bool(_ASKS.search(ast.unparse(test).lower()))
