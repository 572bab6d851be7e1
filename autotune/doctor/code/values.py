"""What kind of value an expression gives, as far as that is certain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable

from autotune.doctor.code.arguments import Arguments
from autotune.doctor.code.functions import Functions
from autotune.doctor.code.kinds import ITERATED, Kind, is_named_strategy, made_by
from autotune.doctor.code.names import Classes, Names
from autotune.doctor.code.scopes import Binding, How, Scopes
from autotune.doctor.code.tree import Function

_DEEPEST = 60
"""Values that come from values are followed so far; longer chains are made to be odd."""
_ELEMENT = {Kind.DATASET: Kind.BATCH, Kind.DISTRIBUTED: Kind.SHARE}
_ELEMENTS = frozenset(_ELEMENT.values())
_DISTRIBUTING = {
    *("experimental_distribute_dataset", "distribute_datasets_from_function"),
    *("experimental_distribute_datasets_from_function", "make_dataset_iterator"),
}
_LOADER = "tensorflow_datasets.load"
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
    """Infers kinds; where two answers are possible it gives none.

    What names and members stand for may depend on itself (`ds = ds.map(f)`). A question is
    therefore asked in rounds, in which each value is looked at once, until no answer changes.
    """

    def __init__(
        self,
        scopes: Scopes,
        names: Names,
        classes: Classes,
        functions: Functions,
        arguments: Arguments,
    ) -> None:
        self._scopes = scopes
        self._names = names
        self._classes = classes
        self._functions = functions
        self._arguments = arguments
        self._settled: dict[Hashable, Guess] = {}
        self._latest: dict[Hashable, Guess] = {}
        """Of the question that is being asked."""
        self._round: set[Hashable] = set()
        self._depth = 0
        self._is_circular = False

    def kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of an expression's value, or None."""
        found = self._settle(node, lambda: self._look(node))
        return found if isinstance(found, Kind) else None

    def class_kind(self, node: ast.ClassDef) -> Kind | None:
        """Return what objects of a class of the module are."""
        found = self._settle(node, lambda: self._of_bases(node))
        return found if isinstance(found, Kind) else None

    def _settle(self, key: Hashable, look: Callable[[], Guess]) -> Guess:
        """Return the answer to a question that is asked from outside."""
        before = None
        while key not in self._settled:
            self._round.clear()
            self._is_circular = False
            self._once(key, look)
            if not self._is_circular or self._latest == before:
                self._settled |= self._latest
                self._latest = {}
            before = dict(self._latest)
        return self._settled[key]

    def _once(self, key: Hashable, look: Callable[[], Guess]) -> Guess:
        """Return an answer as it stands, after the first look of this round at its question."""
        if key in self._settled:
            return self._settled[key]
        if key not in self._round:
            if self._depth > _DEEPEST:
                return UNKNOWN
            self._round.add(key)
            self._depth += 1
            try:
                # An answer that could only change back and forth is no answer.
                self._latest[key] = _agreed([self._latest.get(key), look()])
            finally:
                self._depth -= 1
        self._is_circular |= key not in self._latest
        return self._latest.get(key)

    def _guess(self, node: ast.expr) -> Guess:
        return self._once(node, lambda: self._look(node))

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
                found = _element_only(self._guess(value))
                return Kind.BATCH if found is UNKNOWN and _is_moving(node.slice) else found
        return None if isinstance(node, ast.Constant) and node.value is None else UNKNOWN

    def _follow(self, node: ast.Call | ast.Name | ast.Attribute) -> Guess:
        if isinstance(node, ast.Call):
            return self._call(node)
        return self._name(node) if isinstance(node, ast.Name) else self._attribute(node)

    def _name(self, node: ast.Name) -> Guess:
        bindings = self._scopes.bindings(node.id, node)
        if not bindings:
            return UNKNOWN
        # Every place that reads the name asks the same question.
        return self._once(id(bindings), lambda: _agreed(map(self._bound, bindings)))

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
        if dotted == _LOADER:
            return Kind.DATASET if _gives_one_dataset(node) else UNKNOWN
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
        if owner is Kind.GENERATOR and func.attr.startswith("flow"):
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
        return self._once((owner, node.attr), lambda: self._member(owner, node.attr))

    def _member(self, owner: ast.ClassDef, name: str) -> Guess:
        values = self._classes.values(owner, name)
        if not values:
            return UNKNOWN
        return _agreed(UNKNOWN if each is None else self._guess(each) for each in values)

    def _of_class(self, node: ast.ClassDef) -> Guess:
        return self._once(node, lambda: self._of_bases(node))

    def _of_bases(self, node: ast.ClassDef) -> Guess:
        kinds = [self._of_base(each) for each in node.bases]
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
        return _agreed(
            UNKNOWN
            if each.value is None
            else self._element(each.value, ())
            if each.is_each
            else self._guess(each.value)
            for each in self._arguments.of(node)
        )


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


def _is_moving(cut: ast.expr) -> bool:
    """Return whether it cuts one batch after the other out of an array, by its looks."""
    if not isinstance(cut, ast.Slice) or not isinstance(cut.upper, ast.BinOp):
        return False
    starts = isinstance(cut.lower, ast.Name | ast.BinOp)
    return starts and isinstance(cut.upper.op, ast.Add | ast.Mult)


def _gives_one_dataset(call: ast.Call) -> bool:
    """Return whether a call loads one part of a dataset, and nothing beside it."""
    options = {each.arg: each.value for each in call.keywords}
    split = options.get("split")
    return "with_info" not in options and isinstance(split, ast.Constant) and bool(split.value)


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
