"""Which functions of a module run as Python, and which as graphs of TensorFlow."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from autotune.doctor.code.functions import Functions, arguments
from autotune.doctor.code.tree import Function

_TRACED_METHODS = {"call", "train_step", "test_step", "predict_step", "update_state", "result"}
"""Keras compiles them."""
_TRACING_METHODS = {"map", "filter", "flat_map", "interleave", "reduce", "scan"}
"""Of datasets."""
_PYTHON_CALLS = {"print", "input", "open"}
_PYTHON_METHODS = {"numpy", "item", "save", "save_weights", "restore"}
_PYTHON_MODULES = ("time.", "logging.", "absl.logging.", "tqdm.", "wandb.", "mlflow.")
_RUN_AS_PYTHON = {"tf.py_function", "tf.numpy_function", "tf.print"}
_ASKS = {"get_replica_context", "replica_id_in_sync_group"}
Links = Mapping[Any, set[Function]]


class Graphs(Functions):
    def all_called(self, starts: Iterable[Function | None]) -> set[Function]:
        return _reached(starts, self._named_in)

    def ask_which_it_is(self, functions: Iterable[Function]) -> bool:
        return any(self.asks_for(each, _ASKS) for each in functions)

    def is_python(self, function: Function | None) -> bool:
        """Return whether a function, or for None the module, certainly runs as Python.

        A function that is compiled somewhere, or may be, is not certain.
        """
        return function is None or function in self._python

    @cached_property
    def compiled(self) -> set[Function]:
        decorated = filter(self.is_decorated_to_compile, self.functions)
        found = map(self.follow, self.calls)
        return {*decorated, *(each.function for each in found if each and each.compiled)}

    @cached_property
    def _named_in(self) -> Links:
        return self._around(lambda each: [*self.mentions[each], *self.sites[each]])

    @cached_property
    def _traced(self) -> set[Function]:
        starts = {*self.compiled, *self._handed_to_tensorflow()}
        return _reached(starts, self._named_in, self._around(lambda each: [each]))

    @cached_property
    def _python(self) -> set[Function]:
        """The functions that Python calls, directly or by others that it calls."""
        calls: dict[Function | None, set[Function]] = {}
        for function in self.functions:
            for site in () if function in self._traced else self.sites[function]:
                meant = self.follow(site.func)
                if meant and not meant.compiled:
                    calls.setdefault(self.function_of(site), set()).add(function)
        shown = {self.function_of(call) for call in filter(self._only_python, self.calls)}
        return _reached((shown | calls.get(None, set())) - self._traced, calls)

    def _around(self, places: Callable[[Function], Iterable[ast.AST]]) -> Links:
        found: dict[Function, set[Function]] = {}
        for other in self.functions:
            for each in {above for place in places(other) for above in self.above(place)}:
                if isinstance(each, Function) and each is not other:
                    found.setdefault(each, set()).add(other)
        return found

    def _handed_to_tensorflow(self) -> Iterator[Function]:
        for function in self.functions:
            owner = self.class_of_method(function)
            if owner and owner.bases and getattr(function, "name", "") in _TRACED_METHODS:
                yield function
        for call in filter(self._traces, self.calls):
            yield from filter(None, map(self.meant, arguments(call)))

    def _traces(self, call: ast.Call) -> bool:
        dotted = self.dotted(call.func)
        method = isinstance(call.func, ast.Attribute) and call.func.attr in _TRACING_METHODS
        return dotted not in _RUN_AS_PYTHON and (method or dotted.startswith(("tf.", "keras.")))

    def _only_python(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Name(id=name) if name in _PYTHON_CALLS:
                return True
            case ast.Attribute(attr=name) if name in _PYTHON_METHODS:
                return True
        return self.dotted(call.func).startswith(_PYTHON_MODULES)


def _reached(starts: Iterable[Function | None], *links: Links) -> set[Function]:
    found: set[Function] = set()
    waiting = [*starts]
    while waiting:
        function = waiting.pop()
        if function and function not in found:
            found.add(function)
            waiting.extend(each for link in links for each in link.get(function, ()))
    return found
