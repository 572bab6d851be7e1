"""What kind of value an expression gives, as far as that is certain."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from autotune.lint.code.functions import Functions
from autotune.lint.code.kinds import ITERATED, Kind, is_named_strategy, made_by
from autotune.lint.code.names import Classes, Names
from autotune.lint.code.scopes import Binding, How, Scopes
from autotune.lint.code.tree import FUNCTIONS, Function, Tree

_DEEPEST = 24
_ELEMENT = {Kind.DATASET: Kind.BATCH, Kind.DISTRIBUTED: Kind.SHARE}
_ELEMENTS = frozenset(_ELEMENT.values())
_DISTRIBUTING = {
    *("experimental_distribute_dataset", "distribute_datasets_from_function"),
    *("experimental_distribute_datasets_from_function", "make_dataset_iterator"),
}
_OF_DATASETS = {
    *("map", "filter", "flat_map", "interleave", "batch", "padded_batch", "unbatch", "rebatch"),
    *("shuffle", "repeat", "take", "skip", "prefetch", "cache", "shard", "with_options", "apply"),
    *("concatenate", "enumerate", "window", "ragged_batch", "snapshot", "as_numpy_iterator"),
}


class Unknown:
    """The kind of what could be anything."""


UNKNOWN = Unknown()
"""Differs from None, which stands for what adds nothing: a circle, or the constant None."""
Guess = Kind | Unknown | None


class Values:
    """Infers kinds; where two answers are possible it gives none."""

    def __init__(
        self,
        tree: Tree,
        scopes: Scopes,
        names: Names,
        classes: Classes,
        functions: Functions,
    ) -> None:
        self._tree = tree
        self._scopes = scopes
        self._names = names
        self._classes = classes
        self._functions = functions
        self._open: set[ast.AST] = set()
        self._known: dict[ast.AST, Kind | None] = {}

    def kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of an expression's value, or None."""
        if node not in self._known:
            found = self._guess(node)
            self._known[node] = found if isinstance(found, Kind) else None
        return self._known[node]

    def class_kind(self, node: ast.ClassDef) -> Kind | None:
        """Return what objects of a class of the module are."""
        found = self._of_class(node)
        return found if isinstance(found, Kind) else None

    def _guess(self, node: ast.expr) -> Guess:
        if node in self._open or len(self._open) > _DEEPEST:
            return None
        self._open.add(node)
        try:
            return self._look(node)
        finally:
            self._open.discard(node)

    def _look(self, node: ast.expr) -> Guess:
        match node:
            case ast.Call() | ast.Name() | ast.Attribute():
                return self._follow(node)
            case ast.IfExp(body=first, orelse=second):
                return _agreed([self._guess(first), self._guess(second)])
            case ast.BoolOp(values=values):
                return _agreed(self._guess(each) for each in values)
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                return self._guess(value)
            case ast.Subscript(value=value):
                return _element_only(self._guess(value))
        return None if isinstance(node, ast.Constant) and node.value is None else UNKNOWN

    def _follow(self, node: ast.Call | ast.Name | ast.Attribute) -> Guess:
        if isinstance(node, ast.Call):
            return self._call(node)
        return self._name(node) if isinstance(node, ast.Name) else self._attribute(node)

    def _name(self, node: ast.Name) -> Guess:
        bindings = self._scopes.bindings(node.id, node)
        if not bindings:
            return UNKNOWN
        return _agreed(self._bound(each) for each in bindings)

    def _bound(self, binding: Binding) -> Guess:
        if binding.how is How.VALUE and binding.value is not None:
            return self._part(binding.value, binding.path)
        if binding.how is How.EACH and binding.value is not None:
            return self._element(binding.value, binding.path)
        if binding.how is How.ENTERED and binding.value is not None and not binding.path:
            found = self._guess(binding.value)
            return found if found is Kind.POOL else UNKNOWN
        if binding.how is How.PARAMETER and isinstance(binding.node, ast.arg):
            return self._parameter(binding.node)
        return UNKNOWN

    def _part(self, value: ast.expr, path: tuple[int, ...]) -> Guess:
        """Return the kind of a part of a value that is taken apart."""
        if not path:
            return self._guess(value)
        if isinstance(value, ast.Tuple | ast.List):
            if any(isinstance(each, ast.Starred) for each in value.elts) or path[0] >= len(
                value.elts
            ):
                return UNKNOWN
            return self._part(value.elts[path[0]], path[1:])
        if isinstance(value, ast.Call):
            meant = self._functions.meant(value.func)
            if meant:
                results = self._functions.returned(meant.function)
                return _agreed(self._part(each, path) for each in results)
        return _element_only(self._guess(value))

    def _element(self, value: ast.expr, path: tuple[int, ...]) -> Guess:
        """Return the kind of what a loop over a value gives, or of a part of it."""
        if isinstance(value, ast.Call) and value.args:
            name = _plain_name(value.func) or self._names.dotted(value.func)
            if name == "enumerate":
                inner = path[1:] if path[:1] == (1,) else None
                return self._element(value.args[0], inner) if inner is not None else UNKNOWN
            if name == "zip":
                if not path or path[0] >= len(value.args):
                    return UNKNOWN
                return self._element(value.args[path[0]], path[1:])
            if name in ITERATED:
                return self._element(value.args[0], path)
        found = self._guess(value)
        return _ELEMENT.get(found, UNKNOWN) if isinstance(found, Kind) else found

    def _call(self, node: ast.Call) -> Guess:
        name = _plain_name(node.func)
        if name in {"iter", "next"} and node.args and not self._scopes.bindings(name, node):
            found = self._guess(node.args[0])
            return _element_of(found) if name == "next" else found
        dotted = self._names.dotted(node.func)
        if dotted:
            return made_by(dotted) or UNKNOWN
        return self._own_call(node)

    def _own_call(self, node: ast.Call) -> Guess:
        """Return what a class, a function or a method gives that is no import."""
        owner = self._classes.of(node)
        if owner is not None:
            return self._of_class(owner)
        meant = self._functions.meant(node.func)
        if meant:
            return self._result(meant.function)
        return self._method(node.func) if isinstance(node.func, ast.Attribute) else UNKNOWN

    def _result(self, function: Function) -> Guess:
        if _is_generator(function) or isinstance(function, ast.AsyncFunctionDef):
            return UNKNOWN
        return _agreed(self._guess(each) for each in self._functions.returned(function))

    def _method(self, func: ast.Attribute) -> Guess:
        owner = self._guess(func.value)
        if owner is Kind.STRATEGY and func.attr in _DISTRIBUTING:
            return Kind.DISTRIBUTED
        if owner is Kind.DATASET and func.attr in _OF_DATASETS:
            return Kind.DATASET
        if owner in _ELEMENT and func.attr in {"get_next", "__next__"}:
            return _element_of(owner)
        if owner in _ELEMENT and func.attr == "__iter__":
            return owner
        return None if owner is None else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Guess:
        owner = self._classes.of(node.value)
        if owner is None:
            return UNKNOWN
        values = self._classes.values(owner, node.attr)
        if not values:
            return UNKNOWN
        return _agreed(UNKNOWN if each is None else self._guess(each) for each in values)

    def _of_class(self, node: ast.ClassDef) -> Guess:
        if node in self._open:
            return None
        self._open.add(node)
        try:
            kinds = [self._of_base(each) for each in node.bases]
        finally:
            self._open.discard(node)
        return next((each for each in kinds if isinstance(each, Kind)), UNKNOWN)

    def _of_base(self, base: ast.expr) -> Guess:
        dotted = self._names.dotted(base)
        if dotted:
            return made_by(dotted)
        if isinstance(base, ast.Name):
            for each in self._scopes.bindings(base.id, base):
                if isinstance(each.node, ast.ClassDef):
                    return self._of_class(each.node)
        return UNKNOWN

    def _parameter(self, node: ast.arg) -> Guess:
        if node.annotation is not None:
            found = made_by(self._names.dotted(_plain_annotation(node.annotation)))
            if found:
                return found
        given = self._given(node)
        if isinstance(given, Kind):
            return given
        if given is None and node.annotation is None and is_named_strategy(node.arg):
            return Kind.STRATEGY
        return UNKNOWN

    def _given(self, node: ast.arg) -> Guess:
        """Return what all calls in this module give for a parameter; None if there are none."""
        signature = self._tree.parent(node)
        function = self._tree.parent(signature) if signature else None
        if not isinstance(function, FUNCTIONS) or not isinstance(signature, ast.arguments):
            return UNKNOWN
        sites = self._functions.sites(function)
        guesses = [self._argument(site.call, function, node) for site in sites]
        return _agreed(guesses) if guesses else None

    def _argument(self, call: ast.Call, function: Function, node: ast.arg) -> Guess:
        for each in call.keywords:
            if each.arg == node.arg:
                return self._guess(each.value)
        if any(isinstance(each, ast.Starred) for each in call.args):
            return UNKNOWN
        positional = [*function.args.posonlyargs, *function.args.args]
        if node not in positional:
            return UNKNOWN
        index = positional.index(node)
        owner = self._tree.parent(function)
        if isinstance(owner, ast.ClassDef) and isinstance(call.func, ast.Attribute):
            index -= 1
        if 0 <= index < len(call.args):
            return self._guess(call.args[index])
        return None if index >= len(call.args) else UNKNOWN


def _agreed(guesses: Iterable[Guess]) -> Guess:
    """Return the one kind that all give which give anything."""
    found: set[Kind | Unknown] = {each for each in guesses if each is not None}
    if not found:
        return None
    return found.pop() if len(found) == 1 else UNKNOWN


def _element_of(owner: Guess) -> Guess:
    return _ELEMENT.get(owner, UNKNOWN) if isinstance(owner, Kind) else owner


def _element_only(owner: Guess) -> Guess:
    """Return the kind of a part of a value: of an element's, it is that of an element."""
    return owner if owner in _ELEMENTS else UNKNOWN


def _plain_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _plain_annotation(node: ast.expr) -> ast.expr:
    """Return the type of `X | None` and `Optional[X]`."""
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        return node.left
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.Attribute):
        return node.slice
    return node


def _is_generator(function: Function) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(function))
