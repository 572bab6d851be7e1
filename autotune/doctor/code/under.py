"""Which strategies code runs under, by the scopes around it and around what calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code.kinds import STRATEGIES, Kind
from autotune.doctor.code.module import Module
from autotune.doctor.code.scopes import How
from autotune.doctor.code.tree import Function

_DEEPEST = 6


def strategies_over(module: Module, node: ast.AST) -> set[str]:
    """Return the dotted names of the strategies in whose scope a node may run."""
    return {*_over(module, node, frozenset())}


def strategies_of(module: Module, model: ast.expr) -> set[str]:
    """Return the dotted names of the strategies in whose scope a model may be made or used."""
    found = strategies_over(module, model)
    for place in _assignments(module, model):
        found |= strategies_over(module, place)
    is_given = isinstance(getattr(module.scopes.only(model), "node", None), ast.arg)
    if not found and is_given and module.kind(model) is Kind.MODEL and module.strategy_scopes:
        return module.strategies & STRATEGIES
    return found


def is_conditional(module: Module, node: ast.AST) -> bool:
    """Return whether a condition of the same function may be about the strategy."""
    return any(isinstance(each, ast.If) for each in module.tree.above(node))


def _over(module: Module, node: ast.AST, passed: frozenset[Function]) -> Iterator[str]:
    for block, strategy in module.strategy_scopes:
        if module.tree.inside(node, block):
            made = {*_made(module, strategy, 0)}
            yield from made or module.strategies & STRATEGIES
    function = module.tree.function_of(node)
    if function is not None and function not in passed:
        for site in module.functions.sites(function):
            yield from _over(module, site.call, passed | {function})


def _made(module: Module, node: ast.expr | None, depth: int) -> Iterator[str]:
    """Yield the strategies that an expression may stand for, as far as they are made here."""
    dotted = module.dotted(node.func) if isinstance(node, ast.Call) else ""
    if dotted in STRATEGIES:
        yield dotted
    elif node is not None and depth < _DEEPEST:
        for each in _sources(module, node):
            yield from _made(module, each, depth + 1)


def _sources(module: Module, node: ast.expr) -> list[ast.expr | None]:
    match node:
        case ast.IfExp(body=first, orelse=second):
            return [first, second]
        case ast.Name():
            return [each.plain for each in module.scopes.bindings(node.id, node)]
        case ast.Attribute(value=owner, attr=name):
            of = module.classes.of(owner)
            return module.classes.values(of, name) if of else []
        case ast.Call(func=func):
            function = module.meant(func)
            return [*module.functions.returned(function)] if function else []
    return []


def _assignments(module: Module, node: ast.expr) -> Iterator[ast.AST]:
    """Yield the statements that give a name or a member its value."""
    if isinstance(node, ast.Name):
        bindings = module.scopes.bindings(node.id, node)
        yield from (each.node for each in bindings if each.how is How.VALUE)
    elif isinstance(node, ast.Attribute) and (owner := module.classes.of(node.value)):
        for each in module.tree.attributes[node.attr]:
            if isinstance(each.ctx, ast.Store) and module.classes.of(each.value) is owner:
                yield each
