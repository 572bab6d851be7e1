"""One module, as the rules see it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autotune.doctor.code.arguments import Arguments
from autotune.doctor.code.flow import Flow
from autotune.doctor.code.functions import Functions, Graphs
from autotune.doctor.code.kinds import ANY_STRATEGY, ONE_DEVICE, STRATEGIES, Kind
from autotune.doctor.code.names import Classes, Names
from autotune.doctor.code.order import Order
from autotune.doctor.code.scopes import Scopes
from autotune.doctor.code.tree import Function, Tree
from autotune.doctor.code.values import Values
from autotune.doctor.target import KERAS_3, NEWEST, Version

RUNS = ("run", "experimental_run_v2")
"""The second is gone, but all that holds for the first holds for it as well."""
NOT_INSIDE = r"(?!\.(?:_api|compiler|core|dtensor|python|security|src|tools|tsl)\b)"
"""After `tensorflow` or `keras`: that it is not one of their insides, which only they import."""
_PUBLIC = re.compile(rf"(?:tensorflow|keras){NOT_INSIDE}(?:\..*)?")
_GRAPH_MODE = ("disable_eager_execution", "disable_v2_behavior", "Session", "as_default")


@dataclass(frozen=True, eq=False)
class Run:
    """A call of `strategy.run`."""

    call: ast.Call
    strategy: ast.expr
    function: Function | None
    """What it runs on each replica, where that is a function of this module."""
    compiled: bool
    """Whether that function is compiled by itself."""


class Module:
    """The syntax tree of a module, and what can be asked about it.

    Args:
        root: Not to be changed afterwards.
        target: The TensorFlow that the module is written for.
    """

    def __init__(self, root: ast.Module, target: Version = NEWEST) -> None:
        self.tree = Tree(root)
        self.target = target

    @cached_property
    def scopes(self) -> Scopes:
        """Which names are bound where."""
        return Scopes(self.tree)

    @cached_property
    def names(self) -> Names:
        """What names stand for."""
        return Names(self.scopes)

    @cached_property
    def classes(self) -> Classes:
        """The classes of the module."""
        return Classes(self.tree, self.scopes)

    @cached_property
    def functions(self) -> Functions:
        """Who means which function."""
        return Functions(self.tree, self.scopes, self.names, self.classes)

    @cached_property
    def arguments(self) -> Arguments:
        """What is given for parameters."""
        return Arguments(self.tree, self.names, self.classes, self.functions)

    @cached_property
    def flow(self) -> Flow:
        """Where values come from."""
        parts = (self.tree, self.scopes, self.names, self.classes, self.functions)
        return Flow(*parts, self.arguments)

    @cached_property
    def graphs(self) -> Graphs:
        """Which functions run as Python, and which as graphs."""
        return Graphs(self.tree, self.names, self.functions)

    @cached_property
    def order(self) -> Order:
        """What runs before what."""
        return Order(self.tree, self.functions, self.classes)

    @cached_property
    def values(self) -> Values:
        """What kinds of values expressions give."""
        return Values(self.scopes, self.names, self.classes, self.functions, self.arguments)

    def kind(self, node: ast.expr) -> Kind | None:
        """Return the kind of an expression's value, or None."""
        found = self.values.kind(node)
        if found is None and isinstance(node, ast.Subscript):
            parts = self.flow.origins(node)[1:]
            kinds = {self.values.kind(each.node) for each in parts if not each.path}
            return kinds.pop() if len(kinds) == 1 else None
        return found

    def dotted(self, node: ast.expr) -> str:
        """Return the dotted name of an expression, or nothing."""
        return self.names.dotted(node)

    def meant(self, node: ast.expr) -> Function | None:
        """Return the function of this module that an expression stands for, if it is one."""
        found = self.functions.meant(node)
        return found.function if found else None

    @cached_property
    def uses_tensorflow(self) -> bool:
        """Whether the module imports TensorFlow or Keras as their users do."""
        names = (name for node in self.tree.imports for name in _imported(node))
        return any(map(_PUBLIC.fullmatch, names))

    @cached_property
    def runs(self) -> list[Run]:
        """All calls of `strategy.run`."""
        return [self._run(*each) for each in self.methods(Kind.STRATEGY, *RUNS)]

    @cached_property
    def replica_functions(self) -> set[Function]:
        """The functions that run on each replica: those given to `strategy.run`, what they name."""
        return self.graphs.all_called(run.function for run in self.runs if run.function)

    @cached_property
    def keras_steps(self) -> set[Function]:
        """The train steps of the module's own models, where there is a strategy for them."""
        return {
            each
            for each in (self.tree.functions if self.strategy_scopes else ())
            if getattr(each, "name", "") == "train_step"
            and isinstance(owner := self.tree.parent(each), ast.ClassDef)
            and self.values.class_kind(owner) is Kind.MODEL
        }

    def methods(self, kind: Kind, *names: str) -> Iterator[tuple[ast.Call, ast.expr]]:
        """Yield the calls of methods of a kind of values, each with the value."""
        for call in self.tree.calls:
            func = call.func
            if not isinstance(func, ast.Attribute) or func.attr not in names:
                continue
            if self.kind(func.value) is kind:
                yield call, func.value

    @cached_property
    def strategy_scopes(self) -> list[tuple[ast.With | ast.AsyncWith, ast.expr]]:
        """The `with strategy.scope():` blocks, each with the strategy."""
        return [
            (each, item.context_expr.func.value)
            for each in self.tree.withs
            for item in each.items
            if isinstance(item.context_expr, ast.Call)
            and isinstance(item.context_expr.func, ast.Attribute)
            and item.context_expr.func.attr == "scope"
            and self.kind(item.context_expr.func.value) is Kind.STRATEGY
        ]

    def in_strategy_scope(self, node: ast.AST) -> bool:
        """Return whether a node stands inside a `with strategy.scope():`."""
        return any(self.tree.inside(node, each) for each, _ in self.strategy_scopes)

    @cached_property
    def strategies(self) -> set[str]:
        """The dotted names of the strategies that the module makes."""
        called = {self.dotted(call.func) for call in self.tree.calls}
        return called & (STRATEGIES | ANY_STRATEGY)

    @cached_property
    def is_graph_mode(self) -> bool:
        """Whether the module builds graphs as TensorFlow 1 did, where Python runs no operation."""
        return any(self.tree.attributes.get(name) for name in _GRAPH_MODE)

    @cached_property
    def has_keras_3(self) -> bool:
        """Whether the module gets Keras 3, and does not ask for Keras 2 by itself."""
        imported = {name for node in self.tree.imports for name in _imported(node)}
        asks = any(name.partition(".")[0] == "tf_keras" for name in imported) or any(
            "TF_USE_LEGACY_KERAS" in (getattr(each, "value", None), getattr(each, "arg", None))
            for each in self.tree.walk(self.tree.root)
            if isinstance(each, ast.Constant | ast.keyword)
        )
        return self.target >= KERAS_3 and not asks

    @cached_property
    def may_be_one_device(self) -> bool:
        """Whether it is likely that all that the module does is done on one replica."""
        return bool(self.strategies) and self.strategies <= {ONE_DEVICE, *ANY_STRATEGY}

    def _run(self, call: ast.Call, strategy: ast.expr) -> Run:
        found = self.functions.meant(call.args[0]) if call.args else None
        if found is None:
            given = next((each.value for each in call.keywords if each.arg == "fn"), None)
            found = self.functions.meant(given) if given is not None else None
        compiled = bool(found and (found.compiled or self.graphs.is_compiled(found.function)))
        return Run(call, strategy, found.function if found else None, compiled)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that a statement imports, or imports from."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [each.name for each in node.names]
