"""The functions of a module: who means which, and how TensorFlow runs them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autotune.doctor.code.names import Classes, Names
from autotune.doctor.code.scopes import Binding, How, Scopes
from autotune.doctor.code.tree import FUNCTIONS, Function, Tree

COMPILE = "tf.function"
_WRAPPERS = {"functools.partial", "tf.autograph.experimental.do_not_convert"}
_DEEPEST = 12


@dataclass(frozen=True, eq=False)
class Meant:
    """The function that an expression stands for."""

    function: Function
    compiled: bool
    """Whether it is compiled where it is called in this way."""


@dataclass(frozen=True, eq=False)
class Site:
    """A direct call of a function of the module."""

    call: ast.Call
    compiled: bool


class Functions:
    """Follows expressions to the functions of the module."""

    def __init__(self, tree: Tree, scopes: Scopes, names: Names, classes: Classes) -> None:
        self._tree = tree
        self._scopes = scopes
        self._names = names
        self._classes = classes
        self._known: dict[ast.AST, Meant | None] = {}
        self._returned: dict[Function, list[ast.expr]] = {}
        self._sites: dict[Function, list[Site]] | None = None
        self._mentions: dict[Function, list[ast.expr]] | None = None

    def meant(self, node: ast.AST) -> Meant | None:
        """Return the function of this module that an expression stands for, where it is certain."""
        if node not in self._known:
            self._known[node] = self._follow(node, 0)
        return self._known[node]

    def _follow(self, node: ast.AST, depth: int) -> Meant | None:
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Lambda):
            return Meant(node, compiled=False)
        if isinstance(node, ast.Name):
            binding = self._scopes.only(node)
            return self._bound(binding, depth) if binding else None
        if isinstance(node, ast.Attribute):
            return self._member(node, depth)
        if isinstance(node, ast.Call):
            return self._wrapped(node, depth)
        return None

    def inner(self, node: ast.expr) -> ast.expr | None:
        """Return what a name stands for, or what a wrapper is given, on the way to a function."""
        if not isinstance(node, ast.Call):
            return self._scopes.value(node)
        wraps = self.compiles(node.func) or self._names.dotted(node.func) in _WRAPPERS
        return node.args[0] if wraps and node.args else None

    def compiles(self, node: ast.expr) -> bool:
        """Return whether an expression is `tf.function`, or it with options."""
        if isinstance(node, ast.Call):
            if self._names.dotted(node.func) == "functools.partial" and node.args:
                return self.compiles(node.args[0])
            return not node.args and self.compiles(node.func)
        if self._names.dotted(node) == COMPILE:
            return True
        value = self._scopes.value(node)
        return isinstance(value, ast.Call) and self.compiles(value)

    def sites(self, function: Function) -> list[Site]:
        """Return the direct calls of a function."""
        if self._sites is None:
            self._sites = defaultdict(list)
            for call in self._tree.calls:
                if found := self.meant(call.func):
                    self._sites[found.function].append(Site(call, found.compiled))
        return self._sites.get(function, [])

    def mentions(self, function: Function) -> list[ast.expr]:
        """Return where a function is named, calls included."""
        if self._mentions is None:
            self._mentions = defaultdict(list)
            named = [each.name for each in self._tree.functions if not isinstance(each, ast.Lambda)]
            for name in dict.fromkeys(named):
                for node in (*self._tree.loads.get(name, ()), *self._tree.attributes.get(name, ())):
                    if found := self.meant(node):
                        self._mentions[found.function].append(node)
        return self._mentions.get(function, [])

    def returned(self, function: Function) -> list[ast.expr]:
        """Return the expressions that a function returns."""
        if function not in self._returned:
            self._returned[function] = self._results(function)
        return self._returned[function]

    def _results(self, function: Function) -> list[ast.expr]:
        if isinstance(function, ast.Lambda):
            return [function.body]
        return [
            each.value
            for each in self._tree.walk(function)
            if isinstance(each, ast.Return)
            and each.value is not None
            and self._tree.function_of(each) is function
        ]

    def is_decorated_to_compile(self, function: Function) -> bool:
        """Return whether a decorator compiles it."""
        return any(self.compiles(each) for each in getattr(function, "decorator_list", ()))

    def _bound(self, binding: Binding, depth: int) -> Meant | None:
        if isinstance(binding.node, FUNCTIONS) and binding.how is How.FUNCTION:
            return Meant(binding.node, self.is_decorated_to_compile(binding.node))
        return None if binding.plain is None else self._follow(binding.plain, depth + 1)

    def _member(self, node: ast.Attribute, depth: int) -> Meant | None:
        owner = self._classes.of(node.value)
        if owner is None:
            return None
        method = self._classes.method(owner, node.attr)
        values = self._classes.values(owner, node.attr)
        if method is not None:
            # Where a member of the same name is assigned, it is most often the compiled method.
            calls = [each for each in values if isinstance(each, ast.Call)]
            compiled = any(self.compiles(each.func) for each in calls)
            return Meant(method, compiled or self.is_decorated_to_compile(method))
        only = values[0] if len(values) == 1 else None
        return self._follow(only, depth + 1) if only is not None else None

    def _wrapped(self, node: ast.Call, depth: int) -> Meant | None:
        compiles = self.compiles(node.func)
        if not compiles and self._names.dotted(node.func) not in _WRAPPERS:
            return self._made(node, depth)
        inner = self._follow(node.args[0], depth + 1) if node.args else None
        return inner and Meant(inner.function, compiles or inner.compiled)

    def _made(self, node: ast.Call, depth: int) -> Meant | None:
        """Return the function that a function of the module returns."""
        maker = self._follow(node.func, depth + 1)
        results = self.returned(maker.function) if maker and not maker.compiled else []
        return self._follow(results[0], depth + 1) if len(results) == 1 else None


_TRACED_METHODS = {"call", "train_step", "test_step", "predict_step", "update_state", "result"}
"""Keras compiles them."""
_TRACING_METHODS = {"map", "filter", "flat_map", "interleave", "reduce", "scan"}
"""Of datasets."""
_PYTHON_CALLS = {"print", "input", "open"}
_PYTHON_METHODS = {"numpy", "item", "save", "save_weights", "restore"}
_PYTHON_MODULES = ("time.", "logging.", "absl.logging.", "tqdm.", "wandb.", "mlflow.")
_RUN_AS_PYTHON = {"tf.py_function", "tf.numpy_function", "tf.print"}


class Graphs:
    """What is known of how the functions run."""

    def __init__(self, tree: Tree, names: Names, functions: Functions) -> None:
        self._tree = tree
        self._names = names
        self._functions = functions
        self._named = self._around(
            lambda each: (*functions.mentions(each), *(site.call for site in functions.sites(each)))
        )
        self._inside = self._around(lambda each: [each])
        self.compiled = set(self._compiled())
        self._traced = _reached({*self.compiled, *self._handed_over()}, self._named, self._inside)
        self._python = self._run_by_python()

    def is_python(self, function: Function | None) -> bool:
        """Return whether a function, or for None the module, certainly runs as Python.

        A function that is compiled somewhere, or may be, is not certain.
        """
        return function is None or function in self._python

    def is_compiled(self, function: Function | None) -> bool:
        """Return whether a function of this module is compiled, in this module."""
        return function in self.compiled

    def all_called(self, starts: Iterable[Function]) -> set[Function]:
        """Return the functions and all that they name."""
        return _reached(starts, self._named)

    def _compiled(self) -> Iterator[Function]:
        for function in self._tree.functions:
            if self._functions.is_decorated_to_compile(function):
                yield function
        for call in self._tree.calls:
            found = self._functions.meant(call)
            if found and found.compiled:
                yield found.function

    def _handed_over(self) -> Iterator[Function]:
        """Yield functions that TensorFlow or Keras call by themselves."""
        for function in self._tree.functions:
            owner = self._tree.parent(function)
            traced = getattr(function, "name", "") in _TRACED_METHODS
            if traced and isinstance(owner, ast.ClassDef) and owner.bases:
                yield function
        for call in self._tree.calls:
            if self._traces(call):
                for argument in (*call.args, *(each.value for each in call.keywords)):
                    found = self._functions.meant(argument)
                    if found:
                        yield found.function

    def _traces(self, call: ast.Call) -> bool:
        dotted = self._names.dotted(call.func)
        if dotted in _RUN_AS_PYTHON:
            return False
        method = isinstance(call.func, ast.Attribute) and call.func.attr in _TRACING_METHODS
        return method or dotted.startswith(("tf.", "keras."))

    def _around(
        self, places: Callable[[Function], Iterable[ast.AST]]
    ) -> dict[Function, set[Function]]:
        """Return for each function the others that have a place somewhere inside it."""
        found: dict[Function, set[Function]] = defaultdict(set)
        for other in self._tree.functions:
            for each in {above for place in places(other) for above in self._tree.above(place)}:
                if isinstance(each, FUNCTIONS) and each is not other:
                    found[each].add(other)
        return found

    def _run_by_python(self) -> set[Function]:
        """Return the functions that Python calls, directly or by others that it calls."""
        calls: dict[Function | None, set[Function]] = defaultdict(set)
        for function in self._tree.functions:
            for site in () if function in self._traced else self._functions.sites(function):
                if not site.compiled:
                    calls[self._tree.function_of(site.call)].add(function)
        shown = {
            self._tree.function_of(call) for call in filter(self._only_python, self._tree.calls)
        }
        starts = {each for each in shown | calls[None] if each is not None}
        return _reached(starts - self._traced, calls)

    def _only_python(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Name) and call.func.id in _PYTHON_CALLS:
            return True
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PYTHON_METHODS:
            return True
        return self._names.dotted(call.func).startswith(_PYTHON_MODULES)


def _reached(starts: Iterable[Function], *links: Mapping[Any, set[Function]]) -> set[Function]:
    """Return the functions, and all that links lead to from them."""
    found: set[Function] = set()
    waiting = list(starts)
    while waiting:
        function = waiting.pop()
        if function not in found:
            found.add(function)
            waiting.extend(each for link in links for each in link.get(function, ()))
    return found
