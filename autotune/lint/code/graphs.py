"""Which functions run as Python, step by step, and which TensorFlow turns into graphs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from autotune.lint.code.functions import Functions
from autotune.lint.code.names import Names
from autotune.lint.code.tree import FUNCTIONS, Function, Tree

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
        self._named = self._all_named()
        self._inside = self._all_inside()
        self.compiled = set(self._compiled())
        self._traced = self._closure(self.compiled | set(self._handed_over()))
        self._reached = self._reach()

    def is_python(self, function: Function | None) -> bool:
        """Return whether a function, or for None the module, certainly runs as Python.

        A function that is compiled somewhere, or may be, is not certain.
        """
        return function is None or function in self._reached

    def is_compiled(self, function: Function | None) -> bool:
        """Return whether a function of this module is compiled, in this module."""
        return function in self.compiled

    def all_called(self, starts: Iterable[Function]) -> set[Function]:
        """Return the functions and all that they name."""
        found: set[Function] = set()
        waiting = list(starts)
        while waiting:
            function = waiting.pop()
            if function not in found:
                found.add(function)
                waiting.extend(self._named_in(function))
        return found

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

    def _closure(self, starts: set[Function]) -> set[Function]:
        """Return the functions, those inside them, and all that any of them name."""
        found: set[Function] = set()
        waiting = list(starts)
        while waiting:
            function = waiting.pop()
            if function in found:
                continue
            found.add(function)
            waiting.extend(self._named_in(function))
            waiting.extend(self._inside.get(function, ()))
        return found

    def _named_in(self, function: Function) -> set[Function]:
        return self._named.get(function, set())

    def _all_named(self) -> dict[Function, set[Function]]:
        """Return for each function the others that are named somewhere inside it."""
        found: dict[Function, set[Function]] = defaultdict(set)
        for other in self._tree.functions:
            places: list[ast.AST] = [*self._functions.mentions(other)]
            places += [site.call for site in self._functions.sites(other)]
            for each in {above for place in places for above in self._functions_around(place)}:
                if each is not other:
                    found[each].add(other)
        return found

    def _all_inside(self) -> dict[Function, set[Function]]:
        found: dict[Function, set[Function]] = defaultdict(set)
        for other in self._tree.functions:
            for each in self._functions_around(other):
                found[each].add(other)
        return found

    def _functions_around(self, node: ast.AST) -> Iterator[Function]:
        return (each for each in self._tree.above(node) if isinstance(each, FUNCTIONS))

    def _reach(self) -> set[Function]:
        """Return the functions that Python calls, directly or by others that it calls."""
        shown = filter(self._only_python, self._tree.calls)
        found = {each for each in map(self._tree.function_of, shown) if each} - self._traced
        changed = True
        while changed:
            changed = False
            for function in self._tree.functions:
                if function in found or function in self._traced:
                    continue
                callers = (
                    self._tree.function_of(site.call)
                    for site in self._functions.sites(function)
                    if not site.compiled
                )
                if any(each is None or each in found for each in callers):
                    found.add(function)
                    changed = True
        return found

    def _only_python(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Name) and call.func.id in _PYTHON_CALLS:
            return True
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PYTHON_METHODS:
            return True
        return self._names.dotted(call.func).startswith(_PYTHON_MODULES)
