"""What the calls of a module give for the parameters of its functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autotune.doctor.code.functions import Functions
from autotune.doctor.code.names import Classes, Names
from autotune.doctor.code.tree import FUNCTIONS, Function, Tree

_PARTIAL = "functools.partial"
_NEXT_TO_IT = {"submit", "to_thread", "run_in_executor"}
"""They take the arguments of a function after the function."""
_ONE_BY_ONE = {"map", "imap", "imap_unordered"}


@dataclass(frozen=True, eq=False)
class Given:
    """What one call gives for a parameter."""

    value: ast.expr | None
    """None where that is not certain."""
    is_each: bool = False
    """Whether it is one element after the other of that value."""


@dataclass(frozen=True, eq=False)
class _Call:
    """The arguments of one call of a function."""

    values: list[ast.expr]
    keywords: dict[str | None, ast.expr]
    is_method: bool
    is_each: bool = False


class Arguments:
    """Follows parameters to what is given for them, also by threads, `partial` and strategies."""

    def __init__(self, tree: Tree, names: Names, classes: Classes, functions: Functions) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._functions = functions
        self._calls: dict[Function, list[_Call]] | None = None

    def of(self, parameter: ast.arg) -> list[Given]:
        """Return what the module gives for a parameter, its default included."""
        signature = self._tree.parent(parameter)
        function = self._tree.parent(signature) if signature else None
        if not isinstance(function, FUNCTIONS):
            return [Given(None)]
        if self._calls is None:
            self._calls = defaultdict(list)
            for called, call in self._all():
                self._calls[called].append(call)
        calls = self._calls.get(function, ())
        given = [found for call in calls if (found := _matching(call, function, parameter))]
        default = _default(function.args, parameter)
        return given if default is None else [*given, Given(default)]

    def _all(self) -> Iterator[tuple[Function, _Call]]:
        for call in self._tree.calls:
            made = self._classes.of(call)
            start = self._classes.method(made, "__init__") if made else None
            if start is not None:
                yield start, _Call(call.args, _named(call), is_method=True)
            if found := self._functions.meant(call.func):
                yield found.function, self._filled(call.func, call.args, _named(call))
            if self._functions.meant(call) is None:
                yield from self._handed_over(call)

    def _handed_over(self, call: ast.Call) -> Iterator[tuple[Function, _Call]]:
        """Yield the functions that a call hands over, with the arguments for them."""
        named = _named(call)
        for index, argument in enumerate((*call.args, *named.values())):
            if found := self._functions.meant(argument):
                after, options = call.args[index + 1 :], _items(named.get("kwargs"))
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                one_by_one = name in _ONE_BY_ONE
                together = named.get("args", after[0] if len(after) == 1 else None)
                if name not in _NEXT_TO_IT and not one_by_one:
                    after = together.elts if isinstance(together, ast.Tuple | ast.List) else []
                yield found.function, self._filled(argument, after, options, is_each=one_by_one)

    def _filled(
        self,
        reference: ast.expr,
        values: list[ast.expr],
        keywords: dict[str | None, ast.expr],
        *,
        is_each: bool = False,
    ) -> _Call:
        """Return the arguments of a call, with those that `partial` has filled in before."""
        while (inner := self._functions.inner(reference)) is not None:
            if isinstance(reference, ast.Call) and self._names.dotted(reference.func) == _PARTIAL:
                values = [*reference.args[1:], *values]
                keywords = _named(reference) | keywords
            reference = inner
        owner = reference.value if isinstance(reference, ast.Attribute) else None
        is_method = owner is not None and self._classes.named(owner) is None
        return _Call(values, keywords, is_method=is_method, is_each=is_each)


def _matching(call: _Call, function: Function, parameter: ast.arg) -> Given | None:
    """Return what a call gives for a parameter; None if nothing, so that its default counts."""
    if parameter.arg in call.keywords:
        return Given(call.keywords[parameter.arg])
    positional = [*function.args.posonlyargs, *function.args.args]
    if parameter not in positional or any(isinstance(e, ast.Starred) for e in call.values):
        return Given(None)
    index = positional.index(parameter)
    if call.is_method and positional and positional[0].arg in {"self", "cls"}:
        index -= 1
    if index < 0:
        return Given(None)
    return Given(call.values[index], call.is_each) if index < len(call.values) else None


def _default(signature: ast.arguments, parameter: ast.arg) -> ast.expr | None:
    """Return the default of a parameter, unless that is a constant."""
    positional = [*signature.posonlyargs, *signature.args]
    with_default = positional[len(positional) - len(signature.defaults) :]
    pairs: Iterable[tuple[ast.arg, ast.expr | None]] = (
        *zip(with_default, signature.defaults, strict=True),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    )
    found = next((value for each, value in pairs if each is parameter), None)
    return None if isinstance(found, ast.Constant) else found


def _named(call: ast.Call) -> dict[str | None, ast.expr]:
    return {each.arg: each.value for each in call.keywords}


def _items(node: ast.expr | None) -> dict[str | None, ast.expr]:
    """Return the values of a dictionary by their names."""
    if not isinstance(node, ast.Dict):
        return {}
    return {
        key.value: value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
