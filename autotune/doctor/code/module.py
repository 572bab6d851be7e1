"""One module, as the rules see it."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from autotune.doctor.code.kinds import ANY_STRATEGY, ONE_DEVICE, STRATEGIES, Kind
from autotune.doctor.code.order import Order
from autotune.doctor.code.tree import Function
from autotune.doctor.code.values import Values
from autotune.doctor.settings import KERAS_3, NEWEST, Version

RUNS = ("run", "experimental_run_v2")
"""The second is gone, but all that holds for the first holds for it as well."""
_PUBLIC = re.compile(
    r"(?:tensorflow|keras)"
    r"(?!\.(?:_api|compiler|core|dtensor|python|security|src|tools|tsl)\b)(?:\..*)?"
)
"""What programs import: nothing of the insides, which only TensorFlow and Keras import."""
_GRAPH_MODE = ("disable_eager_execution", "disable_v2_behavior", "Session", "as_default")


@dataclass(frozen=True, eq=False)
class Run:
    """A call of `strategy.run`."""

    call: ast.Call
    function: Function | None
    """What it runs on each replica, where that is a function of this module."""
    compiled: bool
    """Whether that function is compiled by itself."""


class Module(Values):
    """A module with all that rules ask about it, written for one version of TensorFlow."""

    def __init__(self, root: ast.Module, target: Version = NEWEST) -> None:
        super().__init__(root)
        self.target = target

    @cached_property
    def order(self) -> Order:
        return Order(self)

    def methods(self, kind: Kind, *names: str) -> Iterator[tuple[ast.Call, ast.expr]]:
        for call in self.calls:
            func = call.func
            if not isinstance(func, ast.Attribute) or func.attr not in names:
                continue
            if self.kind(func.value) is kind:
                yield call, func.value

    @cached_property
    def runs(self) -> list[Run]:
        return [self._run(call) for call, _ in self.methods(Kind.STRATEGY, *RUNS)]

    def _run(self, call: ast.Call) -> Run:
        named = (each.value for each in call.keywords if each.arg == "fn")
        found = next(filter(None, map(self.follow, (*call.args[:1], *named))), None)
        compiled = bool(found and (found.compiled or found.function in self.compiled))
        return Run(call, found.function if found else None, compiled)

    @cached_property
    def replica_functions(self) -> set[Function]:
        """The functions that run on each replica: those given to `strategy.run`, what they name."""
        return self.all_called(run.function for run in self.runs)

    @cached_property
    def keras_steps(self) -> set[Function]:
        """The train steps of the module's own models, where there is a strategy for them."""
        steps = [each for each in self.functions if getattr(each, "name", "") == "train_step"]
        owners = {each: self.class_of_method(each) for each in steps if self.strategy_scopes}
        return {it for it, own in owners.items() if own and self.class_kind(own) is Kind.MODEL}

    @cached_property
    def strategy_scopes(self) -> list[tuple[ast.With | ast.AsyncWith, ast.expr]]:
        """The `with strategy.scope():` blocks, each with the strategy."""
        entered = ((each, item.context_expr) for each in self.withs for item in each.items)
        return [(each, node) for each, it in entered if (node := self.strategy_of_scope(it))]

    def strategy_of_scope(self, node: ast.expr) -> ast.expr | None:
        """Return the strategy whose `scope()` an expression is, if it is one."""
        match node:
            case ast.Call(func=ast.Attribute(attr="scope", value=owner)):
                return owner if self.kind(owner) is Kind.STRATEGY else None
        return None

    def in_strategy_scope(self, node: ast.AST) -> bool:
        return any(self.inside(node, each) for each, _ in self.strategy_scopes)

    def is_conditional(self, node: ast.AST) -> bool:
        """Return whether a condition around a node may be about the strategy."""
        return any(isinstance(each, ast.If) for each in self.above(node))

    def strategies_over(self, node: ast.AST, passed: tuple[Function, ...] = ()) -> set[str]:
        """Return the dotted names of the strategies in whose scope a node may run."""
        found: set[str] = set()
        for block, strategy in self.strategy_scopes:
            if self.inside(node, block):
                whole = [part.node for part in self.origins(strategy) if not part.path]
                made = {self.dotted(each.func) for each in whole if isinstance(each, ast.Call)}
                found |= made & STRATEGIES or self.strategies & STRATEGIES
        function = self.function_of(node)
        if function is not None and function not in passed:
            calls = self.sites[function]
            found.update(*(self.strategies_over(each, (*passed, function)) for each in calls))
        return found

    @cached_property
    def strategies(self) -> set[str]:
        return {self.dotted(call.func) for call in self.calls} & (STRATEGIES | ANY_STRATEGY)

    @property
    def is_graph_mode(self) -> bool:
        return any(map(self.attributes.get, _GRAPH_MODE))

    @cached_property
    def has_keras_3(self) -> bool:
        """Whether the module gets Keras 3, and does not ask for Keras 2 by itself."""
        asks = any(name.partition(".")[0] == "tf_keras" for name in _imported(self.nodes)) or any(
            "TF_USE_LEGACY_KERAS" in (getattr(each, "value", None), getattr(each, "arg", None))
            for each in self.nodes
            if isinstance(each, ast.Constant | ast.keyword)
        )
        return self.target >= KERAS_3 and not asks

    @property
    def may_be_one_device(self) -> bool:
        """Whether it is likely that all that the module does is done on one replica."""
        return bool(self.strategies) and self.strategies <= {ONE_DEVICE, *ANY_STRATEGY}


def uses_tensorflow(root: ast.Module) -> bool:
    return any(map(_PUBLIC.fullmatch, _imported(ast.walk(root))))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of the modules that are imported."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
