"""Which calls in a script are Keras's, as its run up to the `fit` that is tuned has shown."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from autotune.calls import MethodCall, ScriptNames
from autotune.code.tree import PythonLoop

FIT = "fit"
MAIN = "__main__"
_OF_KERAS = ("keras", "tensorflow", "tf_keras")


class Receivers:
    """Tells whose `fit` a script calls, by what its names stand for while it runs."""

    def __init__(self, tree: ast.Module, program: ModuleType, noted: set[int]) -> None:
        self._tree = tree
        self._program = program
        self._noted = noted
        self._names = ScriptNames(tree)
        self._calls = self._names.method_calls((FIT,))

    def fits_of_keras(self) -> list[MethodCall]:
        """Return the calls of `fit` that are Keras's, or of which that is not known."""
        self._frames = [*_frames_of(self._program, sys._getframe())]  # noqa: SLF001 - of who has called
        self._under_way = [each.f_lineno for each in self._frames]
        self._line = self._under_way[-1] if self._frames else 0
        self._globals = vars(sys.modules[MAIN])
        return [each for each in self._calls if self._is_kerass(each)]

    def line_in_loop(self) -> int | None:
        """Return the first line under way that stands in a loop, which may come to it again."""
        frames = [*_frames_of(self._program, sys._getframe())]  # noqa: SLF001 - as above
        lines = {each.f_lineno for each in frames}
        loops = (each for each in ast.walk(self._tree) if isinstance(each, PythonLoop))
        bodies = [(each.body[0].lineno, each.body[-1].end_lineno or 0) for each in loops]
        inside = (line for line in lines if any(first <= line <= last for first, last in bodies))
        return min(inside, default=None)

    def _is_kerass(self, call: MethodCall) -> bool:
        if call.line in self._noted:
            return True
        passed = call.line in self._under_way or (not call.again and call.line < self._line)
        # Of what was passed, Keras was not called.
        if passed or self._names.is_other(call.receiver):
            return False
        found = self._value(call.receiver, call.scopes)
        return found is None or isinstance(found, ModuleType) or _holds_keras(found)

    def _value(self, node: ast.expr, scopes: Sequence[ast.AST]) -> Any:
        """Return what a text stands for by now; None where that is not known, or may change."""
        if isinstance(node, ast.Attribute):
            base = self._value(node.value, scopes)
            found = None if base is None else inspect.getattr_static(base, node.attr, None)
            return None if isinstance(found, property) else found
        if not isinstance(node, ast.Name) or node.id in _bound(self._tree, self._line):
            return None
        functions = [each for each in scopes if isinstance(each, ast.FunctionDef)]
        if not functions:
            return self._globals.get(node.id)
        for frame in self._frames:
            if frame.f_code.co_name == functions[-1].name:
                later = _bound(functions[-1], frame.f_lineno)
                found = {**self._globals, **frame.f_locals}
                return None if node.id in later else found.get(node.id)
        return None


def _bound(scope: ast.AST, after: int) -> set[str]:
    """Return the names that a scope binds in lines after one."""
    names = (each for each in ast.walk(scope) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store) and each.lineno > after}


def _frames_of(program: ModuleType, frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename == str(program.script.file):
            yield frame
        frame = frame.f_back


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
