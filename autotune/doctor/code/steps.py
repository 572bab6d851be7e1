"""Loops of training steps: which loops run one step in each round, and what the step gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code.kinds import Kind
from autotune.doctor.code.module import Module
from autotune.doctor.code.scopes import Binding, How
from autotune.doctor.code.tree import LOOPS, Function, Loop

_UPDATES = {"apply_gradients", "apply", "minimize"}
_COMBINING = ("tf.reduce_", "tf.math.", "tf.add", "keras.ops.")
_GATHERING = {"reduce", "gather", "experimental_local_results"}
_FEW = 3
PythonLoop = ast.For | ast.AsyncFor | ast.While


def is_repeated(module: Module, loop: Loop) -> bool:
    """Return whether a loop has more than a few rounds, by its looks."""
    if isinstance(loop, PythonLoop) and any(isinstance(each, ast.Break) for each in loop.body):
        return False
    if isinstance(loop, ast.While):
        return True
    source = loop.iter if isinstance(loop, ast.For | ast.AsyncFor) else loop.generators[0].iter
    return not _is_few(module, source)


def _is_over_steps(module: Module, loop: PythonLoop) -> bool:
    """Return whether a loop runs over steps, by its looks: not over epochs."""
    target = "" if isinstance(loop, ast.While) else ast.unparse(loop.target).lower()
    return "epoch" not in target and is_repeated(module, loop)


def _is_few(module: Module, node: ast.expr) -> bool:
    match node:
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="take"), args=given):
            return _is_small(given)
        case ast.Call(func=ast.Name(id="range"), args=given):
            return _is_small(given[-1:])
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return _is_few(module, inner)
        case ast.Call(func=func):
            # AutoGraph makes it a loop of the graph.
            return module.dotted(func) == "tf.range"
    return False


def _is_small(arguments: list[ast.expr]) -> bool:
    last = arguments[-1] if arguments else None
    return isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value <= _FEW


class Steps:
    """The training steps of a module, which are functions that update weights once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._runs = {run.call: run for run in module.runs}
        self._single: dict[Function, bool] = {}

    def by_loop(self) -> dict[PythonLoop, set[ast.expr]]:
        """Return the calls that run one training step, by the innermost loop around them."""
        found: dict[PythonLoop, set[ast.expr]] = {}
        for call in self._module.tree.calls:
            loop = next(self._module.tree.loops_around(call), None)
            if not isinstance(loop, PythonLoop):
                continue
            if self._is_step(call):
                found.setdefault(loop, set()).add(call)
            elif self._is_update(call):
                found.setdefault(loop, set()).update(self._losses(loop))
        return found

    def _is_step(self, call: ast.Call) -> bool:
        run = self._runs.get(call)
        function = run.function if run else self._module.meant(call.func)
        return function is not None and self._gives_tensors(function) and self.trains_once(function)

    def _gives_tensors(self, function: Function) -> bool:
        """Return whether no decorator of another package may have fetched what it returns."""
        around = getattr(function, "decorator_list", ())
        return all(
            self._module.functions.compiles(each) or self._module.dotted(each).startswith("tf.")
            for each in around
        )

    def _losses(self, loop: PythonLoop) -> Iterator[ast.expr]:
        """Yield what a loop that is a training step by itself takes the gradient of."""
        for call in self._module.tree.calls_in(loop):
            func = call.func
            if isinstance(func, ast.Attribute) and func.attr == "gradient" and call.args:
                for each in self._module.scopes.bindings(getattr(call.args[0], "id", ""), call):
                    if each.plain is not None and self._module.tree.inside(each.node, loop):
                        yield each.plain

    def trains_once(self, function: Function) -> bool:
        """Return whether a function updates weights, and has no loop that does so repeatedly."""
        if function not in self._single:
            everything = self._module.graphs.all_called([function])
            self._single[function] = any(map(self._updates, everything)) and not any(
                self._updates_in_loop(each) for each in everything
            )
        return self._single[function]

    def _updates(self, node: ast.AST) -> bool:
        """Return whether a call inside a node updates weights."""
        return any(
            isinstance(each, ast.Call) and self._is_update(each)
            for each in self._module.tree.walk(node)
        )

    def _is_update(self, call: ast.Call) -> bool:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _UPDATES:
            return False
        kind = self._module.kind(func.value)
        return kind is Kind.OPTIMIZER or (kind is None and func.attr != "apply")

    def _updates_in_loop(self, function: Function) -> bool:
        return any(
            self._updates(loop) or any(map(self._leads_to_update, self._module.tree.walk(loop)))
            for loop in self._module.tree.walk(function)
            if isinstance(loop, LOOPS)
        )

    def _leads_to_update(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        meant = self._module.meant(node)
        return meant is not None and any(
            map(self._updates, self._module.graphs.all_called([meant]))
        )


class StepValues:
    """What of the values in a loop are tensors that a step has given."""

    def __init__(self, module: Module, loop: ast.AST, steps: set[ast.expr]) -> None:
        self._module = module
        self._loop = loop
        self._steps = steps
        self._known: dict[ast.AST, bool] = {}

    def holds(self, node: ast.expr) -> bool:
        """Return whether an expression is such a tensor, or is computed from one."""
        if node not in self._known:
            self._known[node] = False
            self._known[node] = self._look(node)
        return self._known[node]

    def _look(self, node: ast.expr) -> bool:
        if node in self._steps:
            return True
        if isinstance(node, ast.Call):
            return self._combines(node)
        if isinstance(node, ast.Subscript):
            return self.holds(node.value)
        if isinstance(node, ast.BinOp):
            return self.holds(node.left) or self.holds(node.right)
        if isinstance(node, ast.Name):
            latest = self._latest(node)
            return latest is not None and latest.value is not None and self.holds(latest.value)
        return False

    def _combines(self, node: ast.Call) -> bool:
        func = node.func
        combines = self._module.dotted(func).startswith(_COMBINING) or (
            isinstance(func, ast.Attribute)
            and func.attr in _GATHERING
            and self._module.kind(func.value) is Kind.STRATEGY
        )
        return combines and any(self.holds(each) for each in node.args)

    def _latest(self, node: ast.Name) -> Binding | None:
        """Return the assignment that a name has its value from, by where it stands in the loop."""
        before = [
            each
            for each in self._module.scopes.bindings(node.id, node)
            if self._module.tree.inside(each.node, self._loop)
            and not self._module.tree.inside(node, each.node)
            and _position(each.node) < _position(node)
        ]
        latest = max(before, key=lambda each: _position(each.node), default=None)
        return latest if latest is not None and latest.how is How.VALUE else None


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def step_loops(module: Module) -> Iterator[tuple[PythonLoop, set[ast.expr]]]:
    """Yield the loops that run a training step in each round as Python, with the steps' calls."""
    for loop, calls in Steps(module).by_loop().items():
        python = module.graphs.is_python(module.tree.function_of(loop))
        if python and _is_over_steps(module, loop):
            yield loop, calls
