"""A module as a tree with the way back up: which names it binds, and what they stand for."""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
PythonLoop = ast.For | ast.AsyncFor | ast.While
Condition = ast.If | ast.IfExp
Loop = PythonLoop | Comprehension
_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes that the parser puts into many places."""
Key = TypeVar("Key")
Value = TypeVar("Value")


class Lists(dict[Key, list[Value]]):
    """Lists by a key; empty where there is none."""

    def __missing__(self, key: Key) -> list[Value]:
        return []


def grouped(pairs: Iterable[tuple[Key | None, Value]]) -> Lists[Key, Value]:
    """Return values by their keys, without those that have none."""
    found = Lists[Key, Value]()
    for key, value in pairs:
        if key is not None:
            found.setdefault(key, []).append(value)
    return found


def reached(starts: Iterable[Key], onward: Callable[[Key], Iterable[Key]]) -> set[Key]:
    """Return some starts, and everything that is reached from them."""
    found = {*starts}
    waiting = [*found]
    while waiting:
        new = {*onward(waiting.pop())} - found
        found |= new
        waiting += new
    return found


class Tree:
    """The nodes of a module, whose syntax tree must not change afterwards."""

    def __init__(self, root: ast.Module) -> None:
        self.root = root
        self.parents: dict[ast.AST, ast.AST] = {}
        self.children: dict[ast.AST, list[ast.AST]] = {}
        waiting: list[ast.AST] = [root]
        for node in waiting:
            inside = [it for it in ast.iter_child_nodes(node) if not isinstance(it, _SHARED)]
            self.children[node] = inside
            self.parents |= dict.fromkeys(inside, node)
            waiting += inside
        self.nodes = [*self.walk(root)]
        self.calls = [each for each in self.nodes if isinstance(each, ast.Call)]
        self.functions = [each for each in self.nodes if isinstance(each, Function)]
        self.withs = [each for each in self.nodes if isinstance(each, ast.With | ast.AsyncWith)]
        names = (each for each in self.nodes if isinstance(each, ast.Name))
        self.loads = grouped((it.id, it) for it in names if isinstance(it.ctx, ast.Load))
        """Where a name is read."""
        members = (each for each in self.nodes if isinstance(each, ast.Attribute))
        self.attributes = grouped((each.attr, each) for each in members)
        """Where something of that name is read from or written to an object."""

    def walk(self, node: ast.AST) -> Iterator[ast.AST]:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(self.children[node]))

    def calls_in(self, node: ast.AST) -> Iterator[ast.Call]:
        return (each for each in self.walk(node) if isinstance(each, ast.Call))

    def asks_for(self, node: ast.AST, names: Collection[str]) -> bool:
        return any(isinstance(it, ast.Attribute) and it.attr in names for it in self.walk(node))

    def names_in(self, node: ast.AST) -> set[str | None]:
        held = [*self.walk(node)]
        named = {each.arg for each in held if isinstance(each, ast.keyword)}
        return named | {each.attr for each in held if isinstance(each, ast.Attribute)}

    def up(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the nodes that hold this one, from the inside out, each with its part around it."""
        while (parent := self.parents.get(node)) is not None:
            yield parent, node
            node = parent

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that hold this one, from the inside out."""
        return (each for each, _ in self.up(node))

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return node is outer or any(each is outer for each in self.above(node))

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        return next((each for each in self.above(node) if isinstance(each, ast.stmt)), None)

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function whose body holds the node; None for the module itself."""
        around = (it for it, part in self.up(node) if isinstance(it, Function) and holds(it, part))
        return next(around, None)

    def class_of_method(self, function: Function | None) -> ast.ClassDef | None:
        owner = self.parents.get(function) if function else None
        return owner if isinstance(owner, ast.ClassDef) else None

    def loops_around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the loops of the same function that run the node again and again, inmost first."""
        for each, part in self.up(node):
            if isinstance(each, Function | ast.ClassDef):
                return
            if isinstance(each, Loop) and holds(each, part):
                yield each

    def loop_around(self, node: ast.AST) -> ast.AST | None:
        return next(self.loops_around(node), None)

    def conditions(self, node: ast.AST) -> Iterator[tuple[Condition, bool]]:
        """Yield the conditions around a node in its function, inmost first, and which must hold."""
        for each, part in self.up(node):
            if isinstance(each, Function):
                return
            if isinstance(each, Condition) and part is not each.test:
                yield each, part is each.body or (isinstance(each, ast.If) and part in each.body)

    def agree(self, one: ast.AST, other: ast.AST) -> bool:
        """Return whether no condition excludes one of two nodes where the other one runs."""
        second = dict(self.conditions(other))
        return all(second.get(each, holds) is holds for each, holds in self.conditions(one))


def holds(node: Function | ast.ClassDef | Loop | Comprehension, part: ast.AST) -> bool:
    """Return whether a part of a function, class or loop belongs to its body."""
    if isinstance(node, Comprehension):
        return not isinstance(part, ast.comprehension)
    body = node.body if isinstance(node.body, list) else [node.body]
    return part in body or (isinstance(node, ast.While) and part is node.test)


_EACH = ast.For | ast.AsyncFor | ast.comprehension
_TENSORFLOW = re.compile(r"^tensorflow(\.compat\.v2)?(?=\.|$)")
_KERAS = re.compile(r"^tf\.keras(?=\.|$)|^tf(?=\.(?:optimizers|metrics|losses)\.[A-Z])")
_DEEPEST = 12
"""Names that stand for names are followed so far; longer chains are made to be odd."""
Method = ast.FunctionDef | ast.AsyncFunctionDef
_BINDS = (ast.stmt, ast.NamedExpr, ast.comprehension, ast.withitem, ast.ExceptHandler, ast.pattern)


@dataclass(frozen=True, eq=False)
class Binding:
    node: ast.AST
    """The statement, loop, item of a `with`, function, class or parameter."""
    value: ast.expr | None = None
    """The value that is assigned, looped over, or entered, where it is followed."""
    path: tuple[int, ...] = ()
    """The place in the value, where that is taken apart."""
    dotted: str = ""
    """The imported name."""

    @property
    def is_assigned(self) -> bool:
        return isinstance(self.node, ast.Assign | ast.AnnAssign | ast.NamedExpr)

    @property
    def plain(self) -> ast.expr | None:
        return self.value if self.is_assigned and not self.path else None

    @property
    def is_each(self) -> bool:
        return isinstance(self.node, _EACH)


@dataclass(eq=False)
class Scope:
    node: ast.AST
    outer: "Scope | None" = None
    names: Lists[str, Binding] = field(default_factory=Lists)
    elsewhere: dict[str, "Scope"] = field(default_factory=dict)
    """The scopes of names that are declared global or nonlocal."""

    def owner(self, name: str) -> "Scope | None":
        """Return the scope outside of this one that binds a name."""
        scope = self.outer
        while scope and (name not in scope.names or isinstance(scope.node, ast.ClassDef)):
            scope = scope.outer
        return scope


class Names(Tree):
    """A module whose names are followed to what was imported, and to its own classes."""

    def __init__(self, root: ast.Module) -> None:
        super().__init__(root)
        self._dotted: dict[int, str] = {}

    def bindings_of(self, node: ast.AST | None) -> list[Binding]:
        """Return every binding of a name; nothing for another node."""
        if not isinstance(node, ast.Name):
            return []
        scope: Scope | None = self._at.get(node, self._at[self.root])
        innermost = True
        while scope is not None:
            visible = innermost or not isinstance(scope.node, ast.ClassDef)
            if node.id in scope.elsewhere or (visible and node.id in scope.names):
                return scope.elsewhere.get(node.id, scope).names[node.id]
            innermost = innermost and isinstance(scope.node, Comprehension)
            scope = scope.outer
        return []

    def is_bound_in(self, node: ast.AST, outer: ast.AST) -> bool:
        """Return whether a name may stand for something that a part of a node binds."""
        return any(self.inside(each.node, outer) for each in self.bindings_of(node))

    def only(self, node: ast.AST) -> Binding | None:
        """Return the one binding of a name; None for another node, or where there are several."""
        bindings = self.bindings_of(node)
        return bindings[0] if len(bindings) == 1 else None

    def value(self, node: ast.AST) -> ast.expr | None:
        binding = self.only(node)
        return binding.plain if binding else None

    def resolved(self, node: ast.expr) -> ast.expr:
        """Return the value of a name where it is certain, otherwise the node itself."""
        return self.value(node) or node

    def constant(self, node: ast.expr | None) -> Any:
        """Return the value of a constant, written here or where its name is assigned, or None."""
        value = self.resolved(node) if node else None
        return value.value if isinstance(value, ast.Constant) else None

    def last_before(self, node: ast.expr, bindings: Iterable[Binding]) -> Binding | None:
        """Return the last of some bindings, by the text, before the statement of a node."""
        here = self.position(self.statement_of(node) or node)
        before = [each for each in bindings if self.position(each.node) < here]
        return max(before, key=lambda each: self.position(each.node), default=None)

    def binding_at(self, node: ast.expr, bindings: Iterable[Binding]) -> Binding | None:
        """Return the one of some bindings that a name certainly has at a node."""
        last = self.last_before(node, bindings)
        if last is None:
            return None
        # It is certain for a node in the block of statements of the binding, or deeper.
        around = (each for each in self.up(last.node) if not isinstance(each[0], ast.With))
        holder, part = next(around)
        blocks = [each for _, each in ast.iter_fields(holder) if isinstance(each, list)]
        block = next((each for each in blocks if part in each), [])
        return last if any(each in block for each in self.above(node)) else None

    def position(self, node: ast.AST) -> tuple[int, int]:
        at = node if isinstance(node, ast.expr | ast.stmt | ast.arg) else self.statement_of(node)
        return (at.lineno, at.col_offset) if at else (0, 0)

    @property
    def scopes(self) -> list[Scope]:
        """All scopes, that of the module first."""
        return list(dict.fromkeys(self._at.values()))

    @property
    def bound_names(self) -> set[str]:
        return {name for scope in self.scopes for name in scope.names}

    @cached_property
    def _at(self) -> dict[ast.AST, Scope]:
        """The scope in which each node is evaluated."""
        root = Scope(self.root)
        at: dict[ast.AST, Scope] = {self.root: root}
        opened: dict[ast.AST, Scope] = {}
        for node in self.nodes[1:]:
            parent = self.parents[node]
            inside = isinstance(parent, Function | ast.ClassDef) and holds(parent, node)
            inside |= isinstance(parent, Comprehension)
            at[node] = scope = opened[parent] if inside else at[parent]
            if isinstance(node, Function | ast.ClassDef | Comprehension):
                opened[node] = Scope(node, scope)
            if isinstance(node, ast.arg):
                own = opened[self.function_with(node)].names
                own.setdefault(node.arg, []).append(Binding(node))
            if isinstance(node, ast.Global | ast.Nonlocal):
                is_global = isinstance(node, ast.Global)
                for name in node.names:
                    scope.elsewhere[name] = root if is_global else scope.owner(name) or Scope(node)
            while isinstance(node, ast.NamedExpr) and isinstance(scope.node, Comprehension):
                scope = scope.outer or root  # It binds outside of comprehensions.
            for name, binding in _bindings(node) if isinstance(node, _BINDS) else ():
                scope.elsewhere.get(name, scope).names.setdefault(name, []).append(binding)
        return at

    def dotted(self, node: ast.expr | None, depth: int = 0) -> str:
        """Return the full name of an expression, such as `tf.distribute.MirroredStrategy`.

        TensorFlow is `tf`, Keras is `keras`, however it was imported: `keras` and `tf.keras` alike.
        Empty where that is not certain, and for definitions of the module itself.
        """
        if depth > _DEEPEST:
            return ""
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value, depth + 1)
            return same(f"{owner}.{node.attr}") if owner else ""
        bindings = self.bindings_of(node)
        key = id(bindings)
        if bindings and key not in self._dotted:
            self._dotted[key] = ""  # A name that stands for itself stands for nothing certain.
            found = {same(it.dotted) or self.dotted(it.plain, depth + 1) for it in bindings}
            self._dotted[key] = found.pop() if len(found) == 1 else ""
        return self._dotted.get(key, "")

    def called(self, node: ast.AST | None) -> str:
        """Return the dotted name of the callee; empty for another node."""
        return self.dotted(node.func) if isinstance(node, ast.Call) else ""

    def calls_of(self, *names: str) -> list[ast.Call]:
        return [each for each in self.calls if self.dotted(each.func) in names]

    def class_named(self, node: ast.expr) -> ast.ClassDef | None:
        binding = self.only(node)
        return binding.node if binding and isinstance(binding.node, ast.ClassDef) else None

    def class_of(self, node: ast.expr) -> ast.ClassDef | None:
        """Return the class of the module that an expression is, or is an object of."""
        if isinstance(node, ast.Call):
            return self.class_named(node.func)
        binding = self.only(node)
        if binding and isinstance(binding.node, ast.arg):
            function = self.function_with(binding.node)
            first = (*function.args.posonlyargs, *function.args.args)[:1]
            decorators = getattr(function, "decorator_list", ())
            static = any(getattr(each, "id", "") == "staticmethod" for each in decorators)
            is_self = binding.node in first and not static
            return self.class_of_method(function) if is_self else None
        value = binding.plain if binding else None
        return self.class_named(value.func if isinstance(value, ast.Call) else node)

    def method(self, owner: ast.ClassDef | None, name: str) -> Method | None:
        body = owner.body[::-1] if owner else []
        return next((it for it in body if isinstance(it, Method) and it.name == name), None)

    def members(self, node: ast.Attribute) -> list[ast.Attribute]:
        """Return where the same member is read or written; nothing for a foreign class."""
        owner = self.class_of(node.value)
        places = self.attributes[node.attr] if owner else []
        return [each for each in places if self.class_of(each.value) is owner]

    def member_values(self, owner: ast.ClassDef, name: str) -> list[ast.expr | None]:
        """Return the values of a member; None for an unknown one."""
        found: list[ast.expr | None] = [
            self._assigned(each)
            for each in self.attributes[name]
            if not isinstance(each.ctx, ast.Load) and self.class_of(each.value) is owner
        ]
        inside = self._at[owner.body[0]].names[name]
        return found + [each.value if not each.path else None for each in inside]

    def function_with(self, parameter: ast.arg) -> Function:
        return cast(Function, self.parents[self.parents[parameter]])

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


def _bindings(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from _imports(node)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _targets(target, node, value)
        case ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
            yield from _targets(node.target, node, value)
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield from _targets(node.target, node, node.iter)
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            yield from _targets(target, node, value)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, Binding(node)
        case (
            ast.AugAssign(target=ast.Name(id=str() as name)) | ast.MatchMapping(rest=str() as name)
        ):
            yield name, Binding(node)
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
            yield node.name, Binding(node)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    for each in node.names:
        if isinstance(node, ast.ImportFrom):
            name, dotted = each.name, f"{'.' * node.level}{node.module or ''}.{each.name}"
        else:
            name = dotted = each.name if each.asname else each.name.partition(".")[0]
        yield each.asname or name, Binding(node, dotted=dotted)


def _targets(
    target: ast.expr, node: ast.AST, value: ast.expr | None, path: tuple[int, ...] = ()
) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Binding(node, value, path)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, node, None)
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            yield from _targets(part, node, value, (*path, index))
