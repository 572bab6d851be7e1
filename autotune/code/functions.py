"""The functions of a module: what they are given and return, and which run as graphs."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain

from autotune.code.names import Function, Lists, Names, grouped, reached

_PARTIAL = "functools.partial"
_WRAPPERS = {_PARTIAL, "tf.autograph.experimental.do_not_convert"}
_DEEPEST = 12
_NEXT_TO_IT = {"submit", "to_thread", "run_in_executor"}
"""They take the arguments of a function after the function."""
_ONE_BY_ONE = {"map", "imap", "imap_unordered"}
_TRACED_METHODS = {"call", "train_step", "test_step", "predict_step", "update_state", "result"}
"""Keras compiles them."""
_TRACING_METHODS = {"map", "filter", "flat_map", "interleave", "reduce", "scan"}
"""Of datasets."""
_PYTHON_CALLS = {"print", "input", "open"}
_PYTHON_METHODS = {"numpy", "item", "save", "save_weights", "restore"}
_PYTHON_MODULES = ("time.", "logging.", "absl.logging.", "tqdm.", "wandb.", "mlflow.")
_RUN_AS_PYTHON = {"tf.py_function", "tf.numpy_function", "tf.print"}
_ASKS = {"get_replica_context", "replica_id_in_sync_group"}


Named = dict[str | None, ast.expr]
Given = tuple[ast.expr | None, bool]
"""The value for a parameter, None if it is not certain; and whether it is one of several."""


@dataclass(frozen=True, eq=False)
class Meant:
    """A function with what it is given, before or in a call."""

    function: Function
    compiled: bool = False
    """Whether it is compiled where it is called in this way."""
    is_method: bool = False
    """Whether the first parameter is the object itself."""
    values: tuple[ast.expr, ...] = ()
    keywords: Named = field(default_factory=dict)
    is_each: bool = False

    def filled(
        self, values: Iterable[ast.expr], keywords: Named, *, is_each: bool = False
    ) -> "Meant":
        every = (*self.values, *values)
        return replace(self, values=every, keywords=self.keywords | keywords, is_each=is_each)

    def give(self, parameter: ast.arg) -> Given | None:
        """Return the value for a parameter; None if there is none, so that its default counts."""
        if parameter.arg in self.keywords:
            return self.keywords[parameter.arg], False
        positional = [*self.function.args.posonlyargs, *self.function.args.args]
        if parameter not in positional or any(isinstance(e, ast.Starred) for e in self.values):
            return None, False
        bound = self.is_method and positional[0].arg in {"self", "cls"}
        index = positional.index(parameter) - bound
        if index < 0:
            return None, False
        return (self.values[index], self.is_each) if index < len(self.values) else None


class Functions(Names):
    def __init__(self, root: ast.Module) -> None:
        super().__init__(root)
        self.follow: Callable[[ast.AST | None], Meant | None] = cache(self._follow)
        """Returns the same as `meant`, with how it is called there."""

    def meant(self, node: ast.AST | None) -> Function | None:
        """Return the function of this module that an expression certainly stands for."""
        found = self.follow(node)
        return found.function if found else None

    def _follow(self, node: ast.AST | None, depth: int = 0) -> Meant | None:
        binding = self.only(node) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Lambda):
            return Meant(node)
        if binding and isinstance(binding.node, Function):
            return Meant(binding.node, self.is_decorated_to_compile(binding.node))
        if depth > _DEEPEST or node is None:
            return None
        if isinstance(node, ast.Attribute):
            return self._member(node, depth)
        if isinstance(node, ast.Call):
            return self._called_for(node, depth)
        return self._follow(binding.plain, depth + 1) if binding else None

    def _called_for(self, node: ast.Call, depth: int) -> Meant | None:
        """Return the function that a wrapper is given, or that a function of the module returns."""
        if self.compiles(node.func) or self.dotted(node.func) in _WRAPPERS:
            inner = self._follow(node.args[0], depth + 1) if node.args else None
            if inner and self.dotted(node.func) == _PARTIAL:
                named = {each.arg: each.value for each in node.keywords}
                inner = inner.filled(node.args[1:], named)
            return inner and replace(inner, compiled=inner.compiled or self.compiles(node.func))
        maker = self._follow(node.func, depth + 1)
        results = self.returned[maker.function] if maker and not maker.compiled else []
        return self._follow(results[0], depth + 1) if len(results) == 1 else None

    def _member(self, node: ast.Attribute, depth: int) -> Meant | None:
        owner = self.class_of(node.value)
        if owner is None:
            return None
        method, values = self.method(owner, node.attr), self.member_values(owner, node.attr)
        is_method = self.class_named(node.value) is None
        if method is not None:
            # Where a member of the same name is assigned, it is most often the compiled method.
            compiled = any(isinstance(it, ast.Call) and self.compiles(it.func) for it in values)
            return Meant(method, compiled or self.is_decorated_to_compile(method), is_method)
        found = self._follow(values[0], depth + 1) if len(values) == 1 else None
        return found and replace(found, is_method=is_method)

    def compiles(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            if self.dotted(node.func) == _PARTIAL and node.args:
                return self.compiles(node.args[0])
            return not node.args and self.compiles(node.func)
        value = self.value(node)
        made = isinstance(value, ast.Call) and self.compiles(value)
        return made or self.dotted(node) == "tf.function"

    def is_decorated_to_compile(self, function: Function) -> bool:
        return any(map(self.compiles, getattr(function, "decorator_list", ())))

    def is_wrapped(self, function: Function) -> bool:
        """Return whether a decorator that is not of TensorFlow may change what a function does."""
        decorators = getattr(function, "decorator_list", ())
        return not all(self.compiles(it) or self.dotted(it).startswith("tf.") for it in decorators)

    @cached_property
    def sites(self) -> Lists[Function | None, ast.Call]:
        return grouped((self.meant(call.func), call) for call in self.calls)

    @cached_property
    def mentions(self) -> Lists[Function, ast.expr]:
        """Where each function is named, calls included."""
        names = dict.fromkeys(getattr(each, "name", "") for each in self.functions)
        places = chain.from_iterable((*self.loads[it], *self.attributes[it]) for it in names)
        return grouped((self.meant(each), each) for each in places)

    @cached_property
    def returned(self) -> Lists[Function | None, ast.expr]:
        lambdas = ((it, it.body) for it in self.nodes if isinstance(it, ast.Lambda))
        returns = (it for it in self.nodes if isinstance(it, ast.Return))
        values = ((self.function_of(it), it.value) for it in returns if it.value is not None)
        return grouped(chain(lambdas, values))

    @cached_property
    def generators(self) -> set[Function | None]:
        yields = (each for each in self.nodes if isinstance(each, ast.Yield | ast.YieldFrom))
        return {self.function_of(each) for each in yields}

    def given(self, parameter: ast.arg) -> list[Given]:
        """Return the values of a parameter in the module: by calls, by handing over, by default."""
        function = self.function_with(parameter)
        default = _default(function.args, parameter)
        calls = self._arguments[function]
        found = [given for call in calls if (given := call.give(parameter))]
        return found if default is None else [*found, (default, False)]

    def handed(self, node: ast.AST) -> list[Given]:
        """Return the values of a name that is a parameter; nothing for another node."""
        binding = self.only(node)
        return self.given(binding.node) if binding and isinstance(binding.node, ast.arg) else []

    def places(self, node: ast.AST) -> set[ast.AST]:
        """Return a node and the calls by which the module runs it, through any functions."""
        return reached([node], lambda each: self.sites[self.function_of(each)])

    @cached_property
    def _arguments(self) -> Lists[Function, Meant]:
        return grouped((each.function, each) for call in self.calls for each in self._filled(call))

    def _filled(self, call: ast.Call) -> Iterator[Meant]:
        named = {each.arg: each.value for each in call.keywords}
        if start := self.method(self.class_of(call), "__init__"):
            yield Meant(start, is_method=True).filled(call.args, named)
        if meant := self.follow(call.func):
            yield meant.filled(call.args, named)
        if self.meant(call) is None:
            yield from self._handed_over(call, named)

    def _handed_over(self, call: ast.Call, named: Named) -> Iterator[Meant]:
        """Yield the functions that a call hands over, with the arguments for them."""
        name, kwargs = last_name(call.func), named.get("kwargs")
        pairs = zip(kwargs.keys, kwargs.values, strict=True) if isinstance(kwargs, ast.Dict) else ()
        options: Named = {str(it.value): each for it, each in pairs if isinstance(it, ast.Constant)}
        for index, argument in enumerate((*call.args, *named.values())):
            if meant := self.follow(argument):
                after = call.args[index + 1 :]
                if name not in _NEXT_TO_IT | _ONE_BY_ONE:
                    together = named.get("args", after[0] if len(after) == 1 else None)
                    after = together.elts if isinstance(together, ast.Tuple | ast.List) else []
                yield meant.filled(after, options, is_each=name in _ONE_BY_ONE)

    def all_called(self, starts: Iterable[Function | None]) -> set[Function]:
        return reached(filter(None, starts), self._named_in.__getitem__)

    def ask_which_it_is(self, functions: Iterable[Function]) -> bool:
        return any(self.asks_for(each, _ASKS) for each in functions)

    def is_python(self, function: Function | None) -> bool:
        """Return whether a function, or for None the module, is never compiled."""
        return function in self._python

    @cached_property
    def compiled(self) -> set[Function]:
        decorated = filter(self.is_decorated_to_compile, self.functions)
        found = map(self.follow, self.calls)
        return {*decorated, *(each.function for each in found if each and each.compiled)}

    @cached_property
    def _named_in(self) -> Lists[Function, Function]:
        return self._around(lambda each: [*self.mentions[each], *self.sites[each]])

    @cached_property
    def _traced(self) -> set[Function]:
        starts = {*self.compiled, *self._handed_to_tensorflow()}
        held = self._around(lambda each: [each])
        return reached(starts, lambda each: (*self._named_in[each], *held[each]))

    @cached_property
    def _python(self) -> set[Function | None]:
        """The functions that Python runs; None stands for the module."""
        calls = Lists[Function | None, Function]()
        for function in self.functions:
            for site in () if function in self._traced else self.sites[function]:
                meant = self.follow(site.func)
                if meant and not meant.compiled:
                    calls.setdefault(self.function_of(site), []).append(function)
        shown = map(self.function_of, filter(self._only_python, self.calls))
        return reached({None, *shown} - self._traced, calls.__getitem__)

    def _around(self, places: Callable[[Function], Iterable[ast.AST]]) -> Lists[Function, Function]:
        return grouped(
            (each, other)
            for other in self.functions
            for each in {above for place in places(other) for above in self.above(place)}
            if isinstance(each, Function) and each is not other
        )

    def _handed_to_tensorflow(self) -> Iterator[Function]:
        for function in self.functions:
            owner = self.class_of_method(function)
            if owner and owner.bases and getattr(function, "name", "") in _TRACED_METHODS:
                yield function
        for call in self.calls:
            dotted, method = self.dotted(call.func), getattr(call.func, "attr", "")
            traces = method in _TRACING_METHODS or dotted.startswith(("tf.", "keras."))
            if traces and dotted not in _RUN_AS_PYTHON:
                yield from filter(None, map(self.meant, arguments(call)))

    def _only_python(self, call: ast.Call) -> bool:
        plain, method = getattr(call.func, "id", ""), getattr(call.func, "attr", "")
        known = plain in _PYTHON_CALLS or method in _PYTHON_METHODS
        return known or self.dotted(call.func).startswith(_PYTHON_MODULES)


def last_name(node: ast.AST | None) -> str:
    """Return the last word of a dotted name; empty for a computed node."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def updated(call: ast.Call) -> ast.expr:
    """Return the metric of a call if it updates one: by `update_state`, or by calling it."""
    match call.func:
        case ast.Attribute(attr="update_state", value=metric):
            return metric
    return call.func


def argument(call: ast.Call, index: int | None, *names: str) -> ast.expr | None:
    """Return the value of an argument, by its name or at its place."""
    named = (each.value for each in call.keywords if each.arg in names)
    placed = call.args[index : index + 1] if index is not None else []
    return next(chain(named, placed), None)


def arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _default(signature: ast.arguments, parameter: ast.arg) -> ast.expr | None:
    from_the_last = [*signature.posonlyargs, *signature.args][::-1]
    given = dict(zip(from_the_last, signature.defaults[::-1], strict=False))
    named = dict(zip(signature.kwonlyargs, signature.kw_defaults, strict=True))
    found = given.get(parameter, named.get(parameter))
    return None if isinstance(found, ast.Constant) else found
