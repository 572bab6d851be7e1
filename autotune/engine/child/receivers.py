"""Which calls in a script are Keras's, as its run up to the `fit` that is tuned has shown."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from autotune.calls import SCOPES, MethodCall, Others, class_of_self, method_calls

FIT = "fit"
MAIN = "__main__"
_OF_KERAS = ("keras", "tensorflow", "tf_keras")
_UNKNOWN = object()


class Receivers:
    """Tells whose `fit` a script calls, by what its names stand for while it runs."""

    def __init__(self, tree: ast.Module, program: ModuleType, noted: set[int]) -> None:
        self._tree = tree
        self._program = program
        self._noted = noted
        self._others = Others(tree)
        self._calls = method_calls(tree, (FIT,))

    def fits_of_keras(self) -> list[MethodCall]:
        """Return the calls of `fit` that are Keras's, or of which that is not known."""
        self._frames = [*_frames_of(self._program, sys._getframe())]  # noqa: SLF001 - of who has called
        self._under_way = [each.f_lineno for each in self._frames]
        self._line = self._under_way[-1] if self._frames else 0
        self._globals = vars(sys.modules[MAIN])
        return [each for each in self._calls if self._is_kerass(each)]

    def _is_kerass(self, call: MethodCall) -> bool:
        if call.line in self._noted:
            return True
        passed = call.line in self._under_way or (not call.again and call.line < self._line)
        # Of what was passed, Keras was not called.
        if passed or self._others.has_receiver(call):
            return False
        found = self._value(call.receiver, call.scopes)
        kind: type | None = found if isinstance(found, type) else type(found)
        if found is _UNKNOWN or found is None or isinstance(found, ModuleType):
            kind = self._made(call)
        by_itself = kind is None or (not _shows_fit(kind) and _uses_keras(kind))
        return by_itself or _holds_keras(found)

    def _made(self, call: MethodCall) -> type | None:
        """Return the class of what a text makes and calls, or of the object that a method is of."""
        node = call.receiver
        if isinstance(node, ast.Call):
            names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            values = [self._value(each, call.scopes) for each in names]
            made = self._value(node.func, call.scopes)
            plain = not any(each is _UNKNOWN or _holds_keras(each) for each in values)
            return made if isinstance(made, type) and plain else None
        owner = class_of_self(node.id, call.scopes) if isinstance(node, ast.Name) else None
        found = self._globals.get(owner.name) if owner else None
        return found if isinstance(found, type) else None

    def _value(self, node: ast.expr, scopes: Sequence[ast.AST]) -> Any:
        if isinstance(node, ast.Name):
            return self._named(node.id, scopes)
        if isinstance(node, ast.Attribute):
            base = self._value(node.value, scopes)
            found = inspect.getattr_static(base, node.attr, _UNKNOWN)
            return _UNKNOWN if isinstance(found, property) else found
        return _UNKNOWN

    def _named(self, name: str, scopes: Sequence[ast.AST]) -> Any:
        functions = [each for each in scopes if isinstance(each, ast.FunctionDef)]
        for function in reversed(functions):
            arguments = (each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg))
            if name in {*arguments, *_bound(function)}:
                return self._in_frame(function, name, scopes)
        found = self._globals.get(name, getattr(builtins, name, _UNKNOWN))
        return _UNKNOWN if name in _bound(self._tree, self._line) else found

    def _in_frame(self, function: ast.FunctionDef, name: str, scopes: Sequence[ast.AST]) -> Any:
        owner = class_of_self(name, tuple(scopes))
        for frame in self._frames:
            found = frame.f_locals.get(name, _UNKNOWN)
            mine = frame.f_code.co_name == function.name
            if mine and name in _bound(function, frame.f_lineno):
                return _UNKNOWN
            if mine or (owner is not None and type(found).__name__ == owner.name):
                return found
        return _UNKNOWN


def _bound(scope: ast.AST, after: int = 0) -> Iterator[str]:
    """Yield the names that a scope binds by itself, in lines after one."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno > after:
            yield node.id
        if not isinstance(node, SCOPES):
            yield from _bound(node, after)


def _frames_of(program: ModuleType, frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename == str(program.SCRIPT):
            yield frame
        frame = frame.f_back


def _shows_fit(kind: type) -> bool:
    """Whether the `fit` of a class, and so what it calls, is in the script."""
    return any(FIT in vars(each) for each in kind.__mro__ if each.__module__ == MAIN)


def _uses_keras(kind: type) -> bool:
    """Whether an object of a class computes with Keras where the script does not show it."""
    return any(_knows_keras(each.__module__) for each in kind.__mro__ if each.__module__ != MAIN)


def _knows_keras(module: str) -> bool:
    """Whether the library that a module is of has imported Keras or TensorFlow."""
    top = module.partition(".")[0]
    if top in _OF_KERAS:
        return True
    mine = [each for name, each in [*sys.modules.items()] if name.partition(".")[0] == top]
    values = (value for each in mine for value in [*getattr(each, "__dict__", {}).values()])
    names = (each.__name__ for each in values if isinstance(each, ModuleType))
    return any(name.partition(".")[0] in _OF_KERAS for name in names)


def _holds_keras(found: Any) -> bool:
    """Whether something is Keras's, or is made in the manner of scikit-learn to work with it."""
    if isinstance(found, type):
        return _uses_keras(found)
    if _uses_keras(type(found)):
        return True
    try:
        parts = found.get_params() if hasattr(type(found), "get_params") else {}
    except Exception:  # noqa: BLE001 - the user's own
        return True
    return any(_uses_keras(type(each)) for each in parts.values())
