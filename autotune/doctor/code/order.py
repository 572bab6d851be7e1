"""What certainly runs before what, when a module is run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from autotune.doctor.code.functions import Functions
from autotune.doctor.code.names import Classes
from autotune.doctor.code.tree import COMPREHENSIONS, FUNCTIONS, Function, Tree

_CONDITIONAL: dict[type[ast.AST], Collection[str]] = {
    **dict.fromkeys((ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "orelse")),
    **dict.fromkeys((ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys(COMPREHENSIONS, ("elt", "key", "value", "generators")),
    ast.BoolOp: ("values",),
}
"""The parts of a node that may not run, or not to their end."""
Branch = tuple[object, ...]
"""The conditional parts around a node, from the outside in."""


@dataclass(frozen=True, eq=False)
class _Moment:
    node: ast.AST
    branch: Branch
    is_over: bool = False
    """Whether what the node holds has run."""

    def leads_to(self, later: _Moment) -> bool:
        """Return whether a later moment is reached through this one only."""
        return later.branch[: len(self.branch)] == self.branch


class Order:
    """The order in which calls and statements of a module run in one process.

    A function runs where it is called first; one that the module neither calls nor hands over
    runs after the module. What is handed over or decorated may run in another process.
    """

    def __init__(self, tree: Tree, functions: Functions, classes: Classes) -> None:
        self._tree = tree
        self._functions = functions
        self._classes = classes
        self._reached: set[Function] = set()
        self._may_return = _around_returns(tree)
        self._main = self._course(self._listed(tree.root.body, ()))
        callers_first = sorted(tree.functions, key=lambda each: bool(functions.sites(each)))
        self._others = [(each, self._course(self._body(each, ()))) for each in callers_first]

    def after(self, firsts: set[ast.AST], thens: set[ast.AST]) -> dict[ast.AST, ast.AST]:
        """Return those of `thens` that certainly run after one of `firsts`, each with that one."""
        found: dict[ast.AST, ast.AST] = {}
        if not firsts or not thens:
            return found
        early = [each for each in self._main if each.node in firsts and not each.branch]
        for function, course in ((None, self._main), *self._others):
            seen = [*early] if function and self._runs_here(function) else []
            for moment in course:
                if moment.node in thens:
                    before = next((each.node for each in seen if each.leads_to(moment)), None)
                    found |= {moment.node: before} if before else {}
                if moment.node in firsts:
                    seen.append(moment)
        return found

    def _runs_here(self, function: Function) -> bool:
        owner = self._tree.parent(function)
        decorated = [
            *getattr(function, "decorator_list", ()),
            *getattr(owner, "decorator_list", ()),
        ]
        return not decorated and not self._functions.mentions(function)

    def _course(self, start: Iterable[_Moment]) -> list[_Moment]:
        """Return what runs, from the first to the last, without the bodies of other threads."""
        course: list[_Moment] = []
        waiting = [*start][::-1]
        while waiting:
            moment = waiting.pop()
            node, branch = moment.node, moment.branch
            if moment.is_over:
                course.append(moment)
                inside = self._called(node, branch) if isinstance(node, ast.Call) else ()
            else:
                inside = self._held(node, branch)
                if isinstance(node, ast.Call | ast.stmt):
                    waiting.append(_Moment(node, branch, is_over=True))
            waiting += [*inside][::-1]
        return course

    def _held(self, node: ast.AST, branch: Branch) -> Iterator[_Moment]:
        for name, value in () if isinstance(node, FUNCTIONS) else ast.iter_fields(node):
            conditional = name in _CONDITIONAL.get(type(node), ())
            inside = (*branch, (node, name)) if conditional else branch
            yield from self._listed(value if isinstance(value, list) else [value], inside)

    def _listed(self, nodes: Iterable[object], branch: Branch) -> Iterator[_Moment]:
        for each in nodes:
            if isinstance(each, ast.AST):
                yield _Moment(each, branch)
            if each in self._may_return:
                branch = (*branch, each)

    def _called(self, call: ast.Call, branch: Branch) -> Iterator[_Moment]:
        named = getattr(call.func, "attr", "") == "run" and ast.unparse(call.func).endswith(
            "app.run"
        )
        meant = self._functions.meant(call.args[0] if named and call.args else call.func)
        owner = self._classes.of(call)
        method = self._classes.method(owner, "__init__") if owner else None
        function = method or (meant.function if meant and not meant.compiled else None)
        yield from self._body(function, branch) if function else ()

    def _body(self, function: Function, branch: Branch) -> Iterator[_Moment]:
        """Yield what a call of a function runs, the first time."""
        later = isinstance(function, ast.AsyncFunctionDef) or _yields(self._tree, function)
        if function not in self._reached and not later:
            self._reached.add(function)
            body = [function.body] if isinstance(function, ast.Lambda) else function.body
            yield from self._listed(body, branch)


def _around_returns(tree: Tree) -> set[object]:
    """Return the statements after which a function may be over, though more of it follows."""
    found: set[object] = set()
    for node in tree.walk(tree.root):
        if isinstance(node, ast.Return):
            for each in tree.above(node):
                if isinstance(each, FUNCTIONS) or each in found:
                    break
                found.add(each)
    return found


def _yields(tree: Tree, function: Function) -> bool:
    return any(
        isinstance(each, ast.Yield | ast.YieldFrom) and tree.function_of(each) is function
        for each in tree.walk(function)
    )
