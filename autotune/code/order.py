"""The order in which the calls and statements of a module certainly run."""

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from autotune.code.functions import Functions
from autotune.code.names import Comprehension, Function

_CONDITIONAL: dict[type[ast.AST], Collection[str]] = {
    **dict.fromkeys((ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    **dict.fromkeys((ast.Try, ast.TryStar), ("body", "orelse")),
    **dict.fromkeys((ast.ExceptHandler, ast.match_case), ("body",)),
    **dict.fromkeys(Comprehension.__args__, ("elt", "key", "value", "generators")),
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


class Order:
    """The order in which calls and statements of a module run in one process.

    A function runs where it is called first; one that the module neither calls nor hands over
    runs after the module. A function that is handed over or decorated may run in another process.
    """

    def __init__(self, module: Functions) -> None:
        self._module = module
        self._reached: set[Function] = set()
        self._may_return = set[object]()
        """The statements after which a function may be over, though more of it follows."""
        for each in module.nodes:
            if isinstance(each, ast.Return):
                above = module.above(each)
                self._may_return |= {*takewhile(lambda it: not isinstance(it, Function), above)}
        self._main = self._course(self._listed(module.root.body, ()))
        self._at = {each.node: at for at, each in enumerate(self._main)}
        callers_first = sorted(module.functions, key=lambda each: bool(module.sites[each]))
        self._others = [(each, self._course(self._body(each, ()))) for each in callers_first]

    def after(self, firsts: set[ast.AST], thens: set[ast.AST]) -> dict[ast.AST, ast.AST]:
        """Return those of `thens` that certainly run after one of `firsts`, each with that one."""
        found: dict[ast.AST, ast.AST] = {}
        early = [each for each in self._main if each.node in firsts and not each.branch]
        for function, course in ((None, self._main), *self._others) if firsts and thens else ():
            owner = self._module.parents[function] if function else None
            decorated = any(getattr(it, "decorator_list", ()) for it in (function, owner))
            runs_here = function and not decorated and not self._module.mentions[function]
            seen = [*early] if runs_here else []
            for moment in course:
                if moment.node in thens:
                    way = [it for it in seen if it.branch == moment.branch[: len(it.branch)]]
                    found |= {moment.node: way[0].node} if way else {}
                if moment.node in firsts:
                    seen.append(moment)
        return found

    def in_force(self, settings: Collection[ast.AST], use: ast.AST) -> ast.AST | None:
        """Return the last of some settings that may have run when a use first runs, or None.

        Settings that the module does not run by itself count by the text, as after the module.
        """
        module, (moments, functions) = self._module, self._first_runs(use)
        own = {each: self._at[each] for each in settings if each in self._at}
        others = [each for each in settings if each not in own]
        near = [each for each in others if module.function_of(each) in functions]
        for until in sorted(moments) or ([] if near else [len(self._main)]):
            here = self._main[until].branch if moments else ()
            early = (it for it, at in own.items() if at < until and self._may_meet(it, here))
            if last := max(early, key=own.__getitem__, default=None):
                return last
        return max(near or others, key=module.position, default=None)

    def _first_runs(self, node: ast.AST) -> tuple[set[int], set[Function | None]]:
        """Return where in the module's course a node runs, and functions that only others run."""
        module, found, functions = self._module, set[int](), set[Function | None]()
        waiting = [node]
        while waiting:
            node = waiting.pop()
            function = module.function_of(node)
            around = [node, *module.above(node)]
            around = around[: around.index(function)] if function else around
            at = next((self._at[each] for each in around if each in self._at), None)
            if at is not None:
                found.add(at)
            elif function and function not in functions:
                functions.add(function)
                waiting += [*module.mentions[function], *module.sites[function]]
                waiting += [function] if isinstance(function, ast.Lambda) else []
        return found, functions

    def _may_meet(self, node: ast.AST, branch: Branch) -> bool:
        """Return whether a node is in no branch that excludes another one."""
        own: dict[object, object] = dict(
            part for part in self._main[self._at[node]].branch if isinstance(part, tuple)
        )
        parts = (part for part in branch if isinstance(part, tuple))
        return all(own.get(each, name) == name for each, name in parts if isinstance(each, ast.If))

    def _course(self, start: Iterable[_Moment]) -> list[_Moment]:
        """Return the moments in their order, without the bodies of other threads."""
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
        for name, value in () if isinstance(node, Function) else ast.iter_fields(node):
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
        module = self._module
        starts = getattr(call.func, "attr", "") == "run" and call.args
        starts = starts and ast.unparse(call.func).endswith("app.run")
        meant = module.follow(call.args[0] if starts else call.func)
        method = module.method(module.class_of(call), "__init__")
        function = method or (meant.function if meant and not meant.compiled else None)
        yield from self._body(function, branch) if function else ()

    def _body(self, function: Function, branch: Branch) -> Iterator[_Moment]:
        later = isinstance(function, ast.AsyncFunctionDef) or function in self._module.generators
        if function not in self._reached and not later:
            self._reached.add(function)
            body = [function.body] if isinstance(function, ast.Lambda) else function.body
            yield from self._listed(body, branch)
