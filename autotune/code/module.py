"""One module, as the rules see it."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from autotune.code.functions import argument
from autotune.code.names import Function
from autotune.code.order import Order
from autotune.code.values import ANY_STRATEGY, ONE_DEVICE, RUNS, Kind, Values, made_by

Version = tuple[int, int]
NEWEST: Version = (2, 21)
"""The version of TensorFlow with which every rule was tried out."""
KERAS_3: Version = (2, 16)
"""From this version on, tf.keras is Keras 3."""
_PUBLIC = re.compile(
    r"(?:tensorflow|keras)"
    r"(?!\.(?:_api|compiler|core|dtensor|python|security|src|tools|tsl)\b)(?:\..*)?"
)
"""Modules for programs; the others are for TensorFlow and Keras themselves."""
_KERAS_STEPS = ("train_step", "test_step")
_GRAPH_MODE = ("disable_eager_execution", "disable_v2_behavior", "Session", "as_default")


class Module(Values):
    """A module written for one version of TensorFlow, with the answers to the rules' questions."""

    def __init__(self, root: ast.Module, target: Version = NEWEST) -> None:
        super().__init__(root)
        self.target = target

    @cached_property
    def order(self) -> Order:
        return Order(self)

    def methods(self, kind: Kind, *names: str) -> Iterator[tuple[ast.Call, ast.expr]]:
        for call in self.calls:
            match call.func:
                case ast.Attribute(owner, name) if name in names and self.kind(owner) is kind:
                    yield call, owner

    @cached_property
    def runs(self) -> dict[ast.Call, Function | None]:
        """The calls of `strategy.run`, each with the module's function that it runs."""
        calls = self.methods(Kind.STRATEGY, *RUNS)
        return {call: self.meant(argument(call, 0, "fn")) for call, _ in calls}

    @cached_property
    def replica_functions(self) -> set[Function]:
        """The functions that run on each replica: those given to `strategy.run`, what they name."""
        return self.all_called(self.runs.values())

    @cached_property
    def merging_functions(self) -> set[Function]:
        """The functions that replicas hand to `merge_call`, which run once for all of them."""
        calls = map(self.parents.__getitem__, self.attributes["merge_call"])
        given = (call.args[0] for call in calls if isinstance(call, ast.Call) and call.args)
        return self.all_called(map(self.meant, given))

    @cached_property
    def keras_steps(self) -> set[Function]:
        """The steps of the module's own models by which Keras trains and tests under a strategy."""
        steps = [each for each in self.functions if getattr(each, "name", "") in _KERAS_STEPS]
        owners = {each: self.class_of_method(each) for each in steps if self.strategy_scopes}
        return {it for it, own in owners.items() if own and self.class_kind(own) is Kind.MODEL}

    @cached_property
    def on_replicas(self) -> set[Function]:
        """The functions that a loop of the module's own or Keras's runs on each replica."""
        return self.replica_functions | self.keras_steps

    @cached_property
    def strategy_scopes(self) -> list[tuple[ast.With | ast.AsyncWith, ast.expr]]:
        """The `with strategy.scope():` blocks, each with the strategy."""
        owners: dict[ast.expr, ast.expr] = dict(self.methods(Kind.STRATEGY, "scope"))
        items = ((each, item.context_expr) for each in self.withs for item in each.items)
        entered = ((block, self.resolved(each)) for block, each in items)
        return [(block, owners[each]) for block, each in entered if each in owners]

    def in_strategy_scope(self, node: ast.AST) -> bool:
        return any(self.inside(node, each) for each, _ in self.strategy_scopes)

    def strategies_over(self, node: ast.AST) -> set[str]:
        """Return the dotted names of the strategies in whose scope a node may run."""
        places = self.places(node)
        found: set[str] = set()
        for block, strategy in self.strategy_scopes:
            if any(self.inside(each, block) for each in places):
                whole = [part.node for part in self.origins(strategy) if not part.path]
                made = {self.dotted(each.func) for each in whole if isinstance(each, ast.Call)}
                found |= made & self.made_strategies or self.made_strategies
        return found

    @cached_property
    def strategies(self) -> set[str]:
        """The dotted names by which the module makes strategies or asks for the current one."""
        names = {self.dotted(call.func) for call in self.calls}
        return {each for each in names if made_by(each) is Kind.STRATEGY}

    @property
    def made_strategies(self) -> set[str]:
        return self.strategies - ANY_STRATEGY

    @property
    def is_graph_mode(self) -> bool:
        return any(map(self.attributes.get, _GRAPH_MODE))

    @cached_property
    def has_keras_3(self) -> bool:
        """Whether the module gets Keras 3, and does not ask for Keras 2 by itself."""
        imports = any(name.partition(".")[0] == "tf_keras" for name in _imported(self.nodes))
        return self.target >= KERAS_3 and not imports and not self.written("TF_USE_LEGACY_KERAS")

    def written(self, word: str) -> list[ast.AST]:
        """Return where a word stands as a text, or as the name of an argument."""
        either = [each for each in self.nodes if isinstance(each, ast.Constant | ast.keyword)]
        return [it for it in either if word in (getattr(it, "value", ""), getattr(it, "arg", ""))]

    @property
    def may_be_one_device(self) -> bool:
        """Whether all work of the module is likely to be done on one replica."""
        return bool(self.strategies) and self.strategies <= {ONE_DEVICE, *ANY_STRATEGY}


def uses_tensorflow(root: ast.Module) -> bool:
    return any(map(_PUBLIC.fullmatch, _imported(ast.walk(root))))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
