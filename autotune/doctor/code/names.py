"""What names stand for, written in one way however they were imported, and the module's classes."""

import ast
import re

from autotune.doctor.code.scopes import Binding, Scopes
from autotune.doctor.code.tree import Function

_TENSORFLOW = re.compile(r"^tensorflow(\.compat\.v2)?(?=\.|$)")
_KERAS = re.compile(r"^tf\.keras(?=\.|$)|^tf(?=\.(?:optimizers|metrics|losses)\.[A-Z])")
_DEEPEST = 12
"""Names that stand for names are followed so far; longer chains are made to be odd."""
Method = ast.FunctionDef | ast.AsyncFunctionDef


class Names(Scopes):
    """A module whose names are followed to what was imported, and to its own classes."""

    def __init__(self, root: ast.Module) -> None:
        super().__init__(root)
        self._dotted: dict[ast.expr | int, str] = {}

    def dotted(self, node: ast.expr) -> str:
        """Return what an expression stands for, such as `tf.distribute.MirroredStrategy`.

        TensorFlow is `tf`, Keras is `keras`, however it was imported: `keras` and `tf.keras` alike.
        Empty where that is not certain, and for what the module defines by itself.
        """
        if node not in self._dotted:
            self._dotted[node] = self._named(node, 0)
        return self._dotted[node]

    def called(self, node: ast.AST | None) -> str:
        """Return what a call calls, by its dotted name; empty for another node."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else ""

    def calls_of(self, *names: str) -> list[ast.Call]:
        return [each for each in self.calls if self.dotted(each.func) in names]

    def _named(self, node: ast.expr, depth: int) -> str:
        if depth > _DEEPEST:
            return ""
        if isinstance(node, ast.Attribute):
            owner = self._named(node.value, depth + 1)
            return same(f"{owner}.{node.attr}") if owner else ""
        bindings = self.bindings_of(node)
        key = id(bindings)
        if bindings and key not in self._dotted:
            self._dotted[key] = ""  # A name that stands for itself stands for nothing certain.
            found = {self._bound_to(each, depth) for each in bindings}
            self._dotted[key] = found.pop() if len(found) == 1 else ""
        return self._dotted.get(key, "")

    def _bound_to(self, binding: Binding, depth: int) -> str:
        if binding.dotted:
            return same(binding.dotted)
        return self._named(binding.plain, depth + 1) if binding.plain is not None else ""

    def class_named(self, node: ast.expr) -> ast.ClassDef | None:
        binding = self.only(node)
        return binding.node if binding and isinstance(binding.node, ast.ClassDef) else None

    def class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """Return the class of the module that an expression is, or is an object of."""
        if isinstance(node, ast.Call):
            return self.class_named(node.func)
        binding = self.only(node)
        if binding and isinstance(binding.node, ast.arg):
            return self._class_of_self(binding.node)
        value = binding.plain if binding else None
        return self.class_named(value.func if isinstance(value, ast.Call) else node)

    def method(self, owner: ast.ClassDef, name: str) -> Method | None:
        methods = (each for each in reversed(owner.body) if isinstance(each, Method))
        return next((each for each in methods if each.name == name), None)

    def members(self, node: ast.Attribute) -> list[ast.Attribute]:
        """Return where the same member is read or written; nothing for what is of no own class."""
        owner = self.class_of(node.value)
        places = self.attributes[node.attr] if owner else []
        return [each for each in places if self.class_of(each.value) is owner]

    def member_values(self, owner: ast.ClassDef, name: str) -> list[ast.expr | None]:
        """Return what is assigned to a member; None for what is unknown."""
        found: list[ast.expr | None] = [
            self._assigned(each)
            for each in self.attributes[name]
            if not isinstance(each.ctx, ast.Load) and self.class_of(each.value) is owner
        ]
        inside = self.scope_of(owner).names[name]
        return found + [each.value if not each.path else None for each in inside]

    def function_with(self, parameter: ast.arg) -> Function | None:
        function = self.parents[self.parents[parameter]]
        return function if isinstance(function, Function) else None

    def _class_of_self(self, parameter: ast.arg) -> ast.ClassDef | None:
        function = self.function_with(parameter)
        owner = self.class_of_method(function)
        if function is None or owner is None:
            return None
        first = (*function.args.posonlyargs, *function.args.args)[:1]
        decorators = getattr(function, "decorator_list", ())
        static = any(getattr(each, "id", "") == "staticmethod" for each in decorators)
        return owner if parameter in first and not static else None

    def _assigned(self, target: ast.Attribute) -> ast.expr | None:
        parent = self.parents[target]
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            return parent.value
        match parent, self.parents[parent]:
            case ast.Tuple(elts=targets), ast.Assign(value=ast.Tuple(elts=values)):
                starred = any(isinstance(each, ast.Starred) for each in (*targets, *values))
                if len(targets) == len(values) and not starred:
                    return values[targets.index(target)]
        return None


def same(dotted: str) -> str:
    return _KERAS.sub("keras", _TENSORFLOW.sub("tf", dotted))
