"""Loops of training steps: which loops run one step in each round, and what the step gives."""

import ast
from collections.abc import Iterator

from autotune.doctor.code.kinds import Kind
from autotune.doctor.code.module import Module
from autotune.doctor.code.tree import Function, Loop, PythonLoop

_UPDATES = {"apply_gradients", "apply", "minimize"}
_COMBINING = ("tf.reduce_", "tf.math.", "tf.add", "keras.ops.")
_GATHERING = {"reduce", "gather", "experimental_local_results"}
_FEW = 3


def is_repeated(module: Module, loop: ast.AST) -> bool:
    """Return whether a loop has more than a few rounds, by its looks."""
    if isinstance(loop, PythonLoop) and any(isinstance(each, ast.Break) for each in loop.body):
        return False
    if isinstance(loop, ast.For | ast.AsyncFor):
        return not _is_few(module, loop.iter)
    generators = getattr(loop, "generators", None)
    return not generators or not _is_few(module, generators[0].iter)


def _is_few(module: Module, node: ast.expr) -> bool:
    match node:
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="take"), args=[*_, last]):
            return _is_small(last)
        case ast.Call(func=ast.Name(id="range"), args=[*_, last]):
            return _is_small(last)
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return _is_few(module, inner)
        case ast.Call(func=func):
            # AutoGraph makes it a loop of the graph.
            return module.dotted(func) == "tf.range"
    return False


def _is_small(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value <= _FEW


class Steps:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._runs = {run.call: run for run in module.runs}
        self._single: dict[Function, bool] = {}

    def loops(self) -> Iterator[tuple[PythonLoop, list[ast.expr]]]:
        """Yield the loops that run one step in each round as Python, with the steps' results."""
        found: dict[PythonLoop, list[ast.expr]] = {}
        for call in self._module.calls:
            loop = next(self._module.loops_around(call), None)
            if isinstance(loop, PythonLoop) and (self._is_step(call) or self._is_update(call)):
                given = [call] if self._is_step(call) else self._losses(loop)
                found.setdefault(loop, []).extend(given)
        for loop, results in found.items():
            over = "" if isinstance(loop, ast.While) else ast.unparse(loop.target).lower()
            in_python = self._module.is_python(self._module.function_of(loop))
            if in_python and "epoch" not in over and is_repeated(self._module, loop):
                yield loop, results

    def _is_step(self, call: ast.Call) -> bool:
        run = self._runs.get(call)
        function = run.function if run else self._module.meant(call.func)
        if function is None:
            return False
        # A decorator of another package may have fetched what it returns.
        return all(
            self._module.compiles(each) or self._module.dotted(each).startswith("tf.")
            for each in getattr(function, "decorator_list", ())
        ) and self._trains_once(function)

    def _losses(self, loop: PythonLoop) -> Iterator[ast.expr]:
        """Yield what a loop that is a training step by itself takes the gradient of."""
        for call in self._module.calls_in(loop):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "gradient" and call.args:
                for each in self._module.bindings_of(call.args[0]):
                    if each.plain is not None and self._module.inside(each.node, loop):
                        yield each.plain

    def _trains_once(self, function: Function) -> bool:
        if function not in self._single:
            everything = self._module.all_called([function])
            nodes = (it for each in everything for it in self._module.walk(each))
            loops = [each for each in nodes if isinstance(each, Loop)]
            updates = any(map(self._updates, everything))
            self._single[function] = updates and not any(map(self._leads_to_update, loops))
        return self._single[function]

    def _updates(self, node: ast.AST) -> bool:
        return any(map(self._is_update, self._module.calls_in(node)))

    def _is_update(self, call: ast.Call) -> bool:
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _UPDATES:
            return False
        kind = self._module.kind(call.func.value)
        return kind is Kind.OPTIMIZER or (kind is None and call.func.attr != "apply")

    def _leads_to_update(self, loop: ast.AST) -> bool:
        """Return whether a loop updates weights, or names a function that does."""
        named = (it for it in self._module.walk(loop) if isinstance(it, ast.Name | ast.Attribute))
        called = self._module.all_called(map(self._module.meant, named))
        return self._updates(loop) or any(map(self._updates, called))


class StepValues:
    """What of the values in a loop are tensors that a step has given."""

    def __init__(self, module: Module, loop: ast.AST, steps: list[ast.expr]) -> None:
        self._module = module
        self._loop = loop
        self._known: dict[ast.AST, bool] = dict.fromkeys(steps, True)

    def holds(self, node: ast.expr) -> bool:
        if node not in self._known:
            self._known[node] = False
            self._known[node] = any(map(self.holds, self._made_from(node)))
        return self._known[node]

    def _made_from(self, node: ast.expr) -> list[ast.expr]:
        module = self._module
        match node:
            case ast.Call(func=func, args=args) if module.dotted(func).startswith(_COMBINING):
                return args
            case ast.Call(func=ast.Attribute(attr=name, value=owner), args=args):
                gathers = name in _GATHERING and module.kind(owner) is Kind.STRATEGY
                return args if gathers else []
            case ast.Subscript(value=value):
                return [value]
            case ast.BinOp(left=left, right=right):
                return [left, right]
        bound = [it for it in module.bindings_of(node) if module.inside(it.node, self._loop)]
        last = module.last_before(node, bound)
        return [last.value] if last and last.is_assigned and last.value else []
