"""Training loops beside a strategy that never runs anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import STRATEGIES
from autotune.doctor.code.module import RUNS
from autotune.doctor.code.steps import PythonLoop, is_repeated
from autotune.doctor.code.tree import Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_USES = {
    *("fit", "fit_generator", "train_on_batch", "get_replica_context", "all_reduce", "merge_call"),
    *("experimental_set_strategy", "experimental_distribute_dataset", "make_dataset_iterator"),
    *("distribute_datasets_from_function", "experimental_distribute_datasets_from_function"),
}
"""Whoever names one of these may distribute the work in another way."""
_SHOWS = {"print", "str", "repr", "type", "isinstance", "len", "id"}
_LOGS = ("logging.", "absl.logging.")
_UPDATES = {"apply_gradients", "minimize"}


def _check(module: Module) -> Iterator[Hit]:
    if module.is_graph_mode or module.may_be_one_device or not module.strategies & STRATEGIES:
        return
    if any(module.tree.attributes.get(name) for name in _USES) or _runs_something(module):
        return
    made = _made_in_scope(module)
    if not made or not all(_only_scopes(module, each) for each in _strategies(module)):
        return
    loops = [each for each in _loops(module) if _trains(module, each, made)]
    for loop in loops:
        if not any(_leads_to(module, loop, each) for each in loops):
            place = loop.test if isinstance(loop, ast.While) else loop.iter
            yield place, "The strategy runs nothing in this file: this loop trains on one device."


def _runs_something(module: Module) -> bool:
    """Return whether something is run that may be a strategy."""
    return any(
        not module.dotted(each.value) or module.kind(each.value) is Kind.STRATEGY
        for name in RUNS
        for each in module.tree.attributes.get(name, ())
    )


def _strategies(module: Module) -> Iterator[ast.expr]:
    """Yield the expressions that stand for a strategy."""
    names = (each for found in module.tree.loads.values() for each in found)
    members = (each for found in module.tree.attributes.values() for each in found)
    for each in (*names, *members, *module.tree.calls):
        written = isinstance(getattr(each, "ctx", None), ast.Store | ast.Del)
        if not written and module.kind(each) is Kind.STRATEGY:
            yield each


def _only_scopes(module: Module, node: ast.expr) -> bool:
    """Return whether a strategy is only entered, shown or counted here, or kept under a name."""
    parent = module.tree.parent(node)
    match parent:
        case ast.Attribute(attr="scope"):
            return _is_entered(module, module.tree.parent(parent))
        case ast.Attribute(attr="num_replicas_in_sync") | ast.FormattedValue() | ast.Compare():
            return True
        case ast.Expr() | ast.If() | ast.UnaryOp():
            return True
        case ast.IfExp(test=test):
            return test is node or _only_scopes(module, parent)
        case ast.BoolOp():
            return _only_scopes(module, parent)
    return _is_kept(module, node, parent)


def _is_kept(module: Module, node: ast.expr, parent: ast.AST | None) -> bool:
    """Return whether a statement keeps a strategy where all its uses are known."""
    match parent:
        case ast.Tuple():
            above = module.tree.parent(parent)
            return isinstance(above, ast.Assign | ast.Return) and _is_kept(module, node, above)
        case ast.Assign(targets=targets):
            return all(_is_followed(module, each) for each in targets)
        case ast.AnnAssign(target=target):
            return _is_followed(module, target)
        case ast.Return():
            function = module.tree.function_of(parent)
            sites = module.functions.sites(function) if function else []
            whole = node is parent.value
            return bool(sites) and (whole or all(_is_taken_apart(module, it.call) for it in sites))
        case ast.keyword():
            return _is_followed_into(module, node, module.tree.parent(parent))
    return _is_followed_into(module, node, parent)


def _is_taken_apart(module: Module, call: ast.Call) -> bool:
    """Return whether each value that a call returns gets a name of its own."""
    parent = module.tree.parent(call)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    return bool(targets) and all(isinstance(each, ast.Tuple) for each in targets)


def _is_entered(module: Module, call: ast.AST | None) -> bool:
    """Return whether a scope is entered, at once or by a name."""
    parent = module.tree.parent(call) if isinstance(call, ast.Call) else None
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        uses = module.tree.loads.get(parent.targets[0].id, ())
        return all(isinstance(module.tree.parent(each), ast.withitem) for each in uses)
    return isinstance(parent, ast.withitem) and parent.optional_vars is None


def _is_followed(module: Module, target: ast.expr) -> bool:
    """Return whether all uses of what is assigned to a target are known to be a strategy's."""
    if isinstance(target, ast.Tuple):
        return all(_is_followed(module, each) for each in target.elts)
    if not isinstance(target, ast.Attribute):
        return isinstance(target, ast.Name)
    owner = module.classes.of(target.value)
    made = owner and any(module.classes.of(each) is owner for each in module.tree.calls)
    if owner is None or owner.bases or not made:
        return False
    uses = module.tree.attributes[target.attr]
    return all(
        isinstance(each.ctx, ast.Store) or module.kind(each) is Kind.STRATEGY for each in uses
    )


def _is_followed_into(module: Module, node: ast.expr, call: ast.AST | None) -> bool:
    """Return whether a call only shows a strategy, or is of a function of the module."""
    if not isinstance(call, ast.Call) or node is call.func:
        return False
    dotted = module.dotted(call.func)
    if getattr(call.func, "id", "") in _SHOWS or dotted.startswith(_LOGS):
        return True
    owner = module.classes.of(call)
    function = module.classes.method(owner, "__init__") if owner else module.meant(call.func)
    signature = function.args if function else None
    given = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs] if signature else []
    names = {
        each.arg for each in given if any(it.value is node for it in module.arguments.of(each))
    }
    uses = (each for name in names for each in module.tree.loads.get(name, ()))
    return bool(names) and all(
        module.kind(each) is Kind.STRATEGY
        for each in uses
        if function and module.tree.inside(each, function)
    )


def _made_in_scope(module: Module) -> set[ast.expr]:
    """Return the calls in the scopes of strategies, some of which make variables."""
    found: set[ast.expr] = set()
    for block in module.tree.withs:
        entered = (module.scopes.value(it.context_expr) or it.context_expr for it in block.items)
        if any(
            isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and each.func.attr == "scope"
            and module.kind(each.func.value) is Kind.STRATEGY
            for each in entered
        ):
            found |= {call for each in block.body for call in module.tree.calls_in(each)}
    return found


def _loops(module: Module) -> Iterator[PythonLoop]:
    """Yield the loops of this program: those that no other file could hand to a strategy."""
    started = [
        each
        for each in module.tree.functions
        if any(module.tree.function_of(use) is None for use in _uses(module, each))
    ]
    reached = {None, *module.graphs.all_called(started)}
    for each in module.tree.walk(module.tree.root):
        if isinstance(each, PythonLoop) and module.tree.function_of(each) in reached:
            counts = isinstance(each, ast.For) and module.dotted(_called(each.iter)) == "tf.range"
            if counts or is_repeated(module, each):
                yield each


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _uses(module: Module, function: Function) -> list[ast.expr]:
    sites = [each.call for each in module.functions.sites(function)]
    return [*module.functions.mentions(function), *sites]


def _called_in(module: Module, loop: PythonLoop) -> set[Function]:
    named = (module.meant(each.func) for each in module.tree.calls_in(loop))
    return module.graphs.all_called(each for each in named if each is not None)


def _leads_to(module: Module, loop: PythonLoop, other: PythonLoop) -> bool:
    """Return whether a loop runs another one in each of its rounds."""
    if loop is other:
        return False
    function = module.tree.function_of(other)
    return module.tree.inside(other, loop) or function in _called_in(module, loop)


def _trains(module: Module, loop: PythonLoop, made: set[ast.expr]) -> bool:
    """Return whether a loop takes gradients of what is made in a scope, and applies them."""
    functions = _called_in(module, loop)
    decorators = [it for each in functions for it in getattr(each, "decorator_list", ())]
    if not all(map(module.functions.compiles, decorators)):
        return False
    places = (loop, *functions)
    calls = [call for each in places for call in module.tree.calls_in(each)]
    names = {getattr(each.func, "attr", "") for each in calls}
    trained = [
        value
        for each in calls
        if getattr(each.func, "attr", "") in {"gradient", "minimize"}
        for value in (*each.args[1:2], *(option.value for option in each.keywords))
    ]
    updates = bool(names & _UPDATES) or {"gradient", "assign_sub"} <= names
    updates |= any(True for _ in module.methods(Kind.OPTIMIZER, "apply"))
    return updates and any(made & module.flow.ingredients(each) for each in trained)


_BAD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for images, labels in dataset:  # <- here
    train_step(images, labels)
"""

_GOOD = _BAD.replace(
    "for images, labels in dataset:  # <- here\n    train_step(images, labels)",
    "@tf.function\ndef train(images, labels):\n"
    "    strategy.run(train_step, args=(images, labels))\n\n\n"
    "for images, labels in strategy.experimental_distribute_dataset(dataset):\n"
    "    train(images, labels)",
)

RULE = Rule(
    name="strategy-never-run",
    title="training loop that the strategy does not run",
    severity=Severity.ERROR,
    why=(
        "strategy.scope() mirrors variables, and distributes no work. With TensorFlow 2.21 and "
        "plain SGD a loop beside it computes every step on one device, and the others receive "
        "copies of the weights. Optimizers with slot variables such as Adam, and a tape in the "
        "scope but outside strategy.run, raise an error."
    ),
    instead=(
        "Loop over strategy.experimental_distribute_dataset(dataset), and call "
        "strategy.run(train_step, args=(batch,)) in a tf.function; or train by model.fit."
    ),
    words=(("strategy",), ("scope",), ("gradient", "minimize"), ("keras", "optimizer", "variable")),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
