"""Models and what belongs to them, created where the strategy does not see it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import STRATEGIES
from autotune.doctor.code.scopes import Binding
from autotune.doctor.code.tree import Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_KINDS = {Kind.MODEL: "model", Kind.OPTIMIZER: "optimizer"}
_COPIES = {"keras.models.clone_model"}
_TRAINS = {"compile", "fit", "train_on_batch"}
_PLAIN = "keras.optimizers.SGD"
"""Without momentum it keeps nothing beside the weights, and works from outside as well."""


def _check(module: Module) -> Iterator[Hit]:
    if module.may_be_one_device or _enters_otherwise(module):
        return
    if not module.strategy_scopes and not module.strategies & STRATEGIES:
        return
    yield from _members_outside(module)
    for scope in list(module.scopes.all()):
        for name, bindings in scope.names.items():
            kind = _made_outside(module, bindings)
            use = _use(module, name, bindings, kind) if kind else ""
            if kind and use and bindings[0].value is not None:
                what = _KINDS[kind]
                yield bindings[0].value, f"The {what} is created outside strategy.scope(){use}."
    yield from _compiled_outside(module) if module.has_keras_3 else ()


def _members_outside(module: Module) -> Iterator[Hit]:
    """Yield where `self.model = ...` stands outside, and replicas use the member."""
    for nodes in list(module.tree.attributes.values()):
        for node in nodes:
            statement = module.tree.parent(node)
            if not isinstance(node.ctx, ast.Store) or not isinstance(statement, ast.Assign):
                continue
            kind = _kind_made_outside(module, statement, statement.value)
            line = _line_on_replicas(module, node) if kind else 0
            if kind and line:
                how = f"outside strategy.scope(), and used on its replicas in line {line}"
                yield statement.value, f"The {_KINDS[kind]} is created {how}."


def _line_on_replicas(module: Module, node: ast.Attribute) -> int:
    """Return the line in which replicas use a member; 0 where it is assigned twice, or none."""
    owner = module.classes.of(node.value)
    if owner is None or len(module.classes.values(owner, node.attr)) != 1:
        return 0
    uses = (
        each.lineno
        for each in module.tree.attributes[node.attr]
        if isinstance(each.ctx, ast.Load)
        and module.classes.of(each.value) is owner
        and module.tree.function_of(each) in module.replica_functions
    )
    return next(uses, 0)


def _kind_made_outside(module: Module, statement: ast.AST, value: ast.expr) -> Kind | None:
    """Return what a call makes that certainly nobody has entered a scope for."""
    if not isinstance(value, ast.Call) or not _is_outside(module, statement):
        return None
    kind = None if _enters_by_itself(module, value) else module.kind(value)
    light = kind is Kind.OPTIMIZER and not _keeps(module, value)
    return kind if kind in _KINDS and not light else None


def _compiled_outside(module: Module) -> Iterator[Hit]:
    """Yield where a model from the scope gets an optimizer that is not from there."""
    for func in module.tree.attributes.get("compile", ()):
        call = module.tree.parent(func)
        if isinstance(call, ast.Call) and call.func is func:
            named = [each.value for each in call.keywords if each.arg == "optimizer"]
            makes = any(_makes_optimizer(module, each) for each in named or call.args[:1])
            if makes and _is_outside(module, call) and _is_from_scope(module, func.value):
                yield call, "The model is created in strategy.scope() but compiled outside it."


def _makes_optimizer(module: Module, node: ast.expr) -> bool:
    """Return whether an argument of `compile` makes an optimizer that keeps more than weights."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.lower() != "sgd"
    return module.kind(node) is Kind.OPTIMIZER and _keeps(module, node)


def _keeps(module: Module, node: ast.expr | None) -> bool:
    """Return whether an expression makes an optimizer that keeps more than the weights."""
    if not isinstance(node, ast.Call):
        return False
    plain = module.dotted(node.func) == _PLAIN
    return not plain or any(each.arg in {"momentum", None} for each in node.keywords)


def _is_from_scope(module: Module, node: ast.expr) -> bool:
    bindings = module.scopes.bindings(node.id, node) if isinstance(node, ast.Name) else []
    return bool(bindings) and all(
        each.plain is not None and module.in_strategy_scope(each.node) for each in bindings
    )


def _enters_otherwise(module: Module) -> bool:
    """Return whether the module enters the scope of a strategy in a way that cannot be followed."""
    followed = {strategy for _, strategy in module.strategy_scopes}
    scopes = module.tree.attributes.get("scope", ())
    others = [each for each in scopes if each.value not in followed]
    return bool(others or module.tree.attributes.get("experimental_set_strategy"))


def _made_outside(module: Module, bindings: list[Binding]) -> Kind | None:
    """Return what a name stands for, if that is certainly made outside of every scope."""
    kinds: set[Kind | None] = set()
    kinds = {
        _kind_made_outside(module, each.node, value) for each in bindings if (value := each.plain)
    }
    return kinds.pop() if len(kinds) == 1 and all(each.plain for each in bindings) else None


def _is_outside(module: Module, node: ast.AST) -> bool:
    """Return whether nobody can have entered the scope when a statement runs."""
    if any(isinstance(each, ast.With | ast.AsyncWith) for each in module.tree.above(node)):
        return False
    function = module.tree.function_of(node)
    return function is None or _makes_strategy(module, function)


def _makes_strategy(module: Module, function: Function) -> bool:
    """Return whether a function makes the strategies itself, so that it is not run in a scope."""
    makers = [each for each in module.tree.calls if module.dotted(each.func) in STRATEGIES]
    return bool(makers) and all(module.tree.function_of(each) is function for each in makers)


def _enters_by_itself(module: Module, call: ast.Call) -> bool:
    """Return whether what a call runs may enter the scope."""
    function = module.meant(call.func)
    owner = module.classes.of(call)
    inside: list[ast.AST] = [owner] if owner else []
    if function is not None:
        inside += module.graphs.all_called([function])
    return any(module.tree.asks_for(node, {"scope"}) for node in inside)


def _use(module: Module, name: str, bindings: list[Binding], kind: Kind) -> str:
    """Return how it is used under the strategy, as the end of a sentence; empty if it is not."""
    for node in module.tree.loads.get(name, ()):
        if module.scopes.bindings(name, node) is not bindings:
            continue
        if module.tree.function_of(node) in module.replica_functions:
            return f", and used on its replicas in line {node.lineno}"
        if module.in_strategy_scope(node) and _is_trained(module, node, kind):
            return f", and used in it in line {node.lineno}"
        if _is_never_entered(module) and _is_fitted(module, node, kind):
            return f", which is never entered, and trained in line {node.lineno}"
    return ""


def _is_never_entered(module: Module) -> bool:
    """Return whether the module keeps its strategy to itself, and does nothing with it."""
    if module.strategy_scopes or module.runs:
        return False
    for call in module.tree.calls:
        if module.dotted(call.func) in STRATEGIES:
            statement = module.tree.parent(call)
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            names = [each.id for each in targets if isinstance(each, ast.Name)]
            uses = [use for name in names for use in module.tree.loads.get(name, ())]
            if len(names) != 1 or not all(_only_reads(module, each) for each in uses):
                return False
    return True


def _only_reads(module: Module, node: ast.Name) -> bool:
    """Return whether a strategy is only asked for its number of replicas."""
    parent = module.tree.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr == "num_replicas_in_sync"


def _is_fitted(module: Module, node: ast.Name, kind: Kind) -> bool:
    parent = module.tree.parent(node)
    return kind is Kind.MODEL and isinstance(parent, ast.Attribute) and parent.attr == "fit"


def _is_trained(module: Module, node: ast.Name, kind: Kind) -> bool:
    """Return whether it is compiled or trained, or becomes a part of a model."""
    parent = module.tree.parent(node)
    if isinstance(parent, ast.Attribute):
        return kind is Kind.MODEL and parent.attr in _TRAINS
    around = (each for each in module.tree.above(node) if isinstance(each, ast.Call | ast.stmt))
    call = next(around, None)
    if not isinstance(call, ast.Call) or module.dotted(call.func) in _COPIES:
        return False
    if kind is Kind.OPTIMIZER:
        return isinstance(call.func, ast.Attribute) and call.func.attr == "compile"
    return module.kind(call) is Kind.MODEL


_BAD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
model = keras.Sequential([keras.layers.Dense(10)])  # <- here

with strategy.scope():
    model.compile("adam", "mse")

model.fit(images, labels)
"""

_BAD_LOOP = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
optimizer = keras.optimizers.Adam()  # <- here

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_BAD_COMPILE = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])

model.compile("adam", "mse")  # <- here
"""

_GOOD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    model.compile("adam", "mse")

model.fit(images, labels)
"""

_GOOD_FUNCTION = """
import keras
import tensorflow as tf


def make_model():
    model = keras.Sequential([keras.layers.Dense(10)])
    model.compile(keras.optimizers.Adam(), "mse")
    return model


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = make_model()
"""

RULE = Rule(
    name="created-outside-scope",
    title="model or optimizer created outside strategy.scope()",
    severity=Severity.ERROR,
    why=(
        "Only variables created in the scope are mirrored to every replica. A model from "
        "outside, or an optimizer with slot variables such as Adam, fails once the replicas "
        "train; a model trained without the scope uses one device."
    ),
    instead="Create and compile it inside `with strategy.scope():`.",
    words=(("strategy",), ("keras", "optimizer")),
    check=_check,
    bad=(_BAD, _BAD_LOOP, _BAD_COMPILE),
    good=(_GOOD, _GOOD_FUNCTION),
)
