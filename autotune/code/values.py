"""Where the values of expressions come from, through any number of names, and what they are."""

import ast
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from autotune.code.functions import Functions, Meant, argument, last_name


class Kind(Enum):
    STRATEGY = auto()
    MODEL = auto()
    OPTIMIZER = auto()
    METRIC = auto()
    LOSS = auto()
    """A loss object, not its value."""
    VARIABLE = auto()
    DATASET = auto()
    """As tf.data makes it, or an iterator of it."""
    DISTRIBUTED = auto()
    """A dataset, or an iterator of it, that gives each replica its share."""
    BATCH = auto()
    """An element of a DATASET."""
    SHARE = auto()
    """A value for each replica: from a DISTRIBUTED dataset, or returned by `strategy.run`."""
    GENERATOR = auto()
    """Of Keras, whose `flow` methods give batches."""
    LOCK = auto()
    POOL = auto()
    """Runs functions in threads."""


ELEMENTS = {Kind.DATASET: Kind.BATCH, Kind.DISTRIBUTED: Kind.SHARE, Kind.SHARE: Kind.SHARE}
RUNS = ("run", "experimental_run_v2")
"""TensorFlow no longer has the second one, which did the same."""
DISTRIBUTING = {
    *("experimental_distribute_dataset", "distribute_datasets_from_function"),
    *("experimental_distribute_datasets_from_function", "make_dataset_iterator"),
}
"""Methods of strategies."""
OF_DATASETS = {
    *("map", "filter", "flat_map", "interleave", "batch", "padded_batch", "unbatch", "rebatch"),
    *("shuffle", "repeat", "take", "skip", "prefetch", "cache", "shard", "with_options", "apply"),
    *("concatenate", "enumerate", "window", "ragged_batch", "snapshot", "as_numpy_iterator"),
}
"""Methods of datasets that return one."""
ANY_STRATEGY = {"tf.distribute.Strategy", "tf.distribute.get_strategy"}
ONE_DEVICE = "tf.distribute.OneDeviceStrategy"
_PLACES = ("tf.distribute", "tf.distribute.experimental")
MULTI_WORKER = {f"{place}.MultiWorkerMirroredStrategy" for place in _PLACES}
SERVERS = {f"{place}.ParameterServerStrategy" for place in _PLACES}

_MAKERS = {
    Kind.STRATEGY: r"tf\.distribute\.((experimental\.)?\w*Strategy|get_strategy)",
    Kind.MODEL: (
        r"keras\.(models\.)?(Sequential|Model)|keras\.models\.(Functional|clone_model)"
        r"|keras\.(models|saving)\.load_model|keras\.applications\.(\w+\.)?[A-Z]\w*"
    ),
    Kind.OPTIMIZER: r"keras\.optimizers\.(get|(legacy\.)?[A-Z]\w*)",
    Kind.METRIC: r"keras\.metrics\.[A-Z]\w*",
    Kind.LOSS: r"keras\.losses\.[A-Z]\w*",
    Kind.VARIABLE: r"tf\.Variable",
    Kind.DATASET: (
        r"tf\.data\.(TFRecord|TextLine|FixedLengthRecord)?Dataset"
        r"|tf\.data\.Dataset\.(from_\w+|range|list_files|zip|random|sample_from_datasets)"
        r"|keras\.utils\.(image|text)_dataset_from_directory"
        r"|keras\.utils\.timeseries_dataset_from_array"
    ),
    Kind.GENERATOR: r"keras\.(legacy\.)?preprocessing\.image\.ImageDataGenerator",
    Kind.LOCK: r"threading\.(R?Lock|Condition|(Bounded)?Semaphore)",
    Kind.POOL: (
        r"concurrent\.futures\.(thread\.)?ThreadPoolExecutor"
        r"|multiprocessing\.(pool\.ThreadPool|dummy\.Pool)"
    ),
}
STRATEGY_NAME = re.compile(
    r"_*((mirrored|dist|distribution|distribute|distributed|tpu|multi_?worker)_?)?strategy"
)
"""Names of nothing but a tf.distribute.Strategy, in lower case."""
ITERATED = {"enumerate", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "iter"}
"""Calls that hand on the elements of their first argument."""


@cache
def made_by(dotted: str) -> Kind | None:
    """Return the kind of value that a call of that name returns."""
    return next((kind for kind, names in _MAKERS.items() if re.fullmatch(names, dotted)), None)


Key = int | str | None
"""Which element of a container; None where it may be any of them."""
Node = ast.expr | ast.arg
_MOST = 400
"""Parts after which a value is followed no further."""
_DEEPEST = 5
_JOINS = {f"tf.data.Dataset.{each}" for each in ("zip", "sample_from_datasets")}
_SAME_ELEMENTS = {*ITERATED, "list", "tuple", "reversed", "sorted", "itertools.cycle"}
_REPEATED = {"itertools.repeat": 0, "repeat": 0, "dict.fromkeys": 1}
"""Which argument they take for all elements."""


@dataclass(frozen=True)
class Part:
    """An element of an element … of the value of a node."""

    node: Node
    path: tuple[Key, ...] = ()
    maker: Kind | None = None
    """The kind that the node must have, where the part is returned by a method of that kind."""

    def of(self, node: Node | None, *keys: Key) -> "Part | None":
        """Return the same part of another node, or of an element of it; None for no node."""
        return Part(node, (*keys, *self.path), self.maker) if node is not None else None

    def element(self, node: ast.expr) -> "Part":
        """Return the same part of a node that is an element of this one."""
        return Part(node, self.path[1:], self.maker)

    def inside(self, node: ast.expr) -> "Part":
        """Return the same part of a node whose elements hold it at the second key."""
        return Part(node, (self.path[0], *self.path[2:]), self.maker)


Entered = tuple[Meant, ...]
"""The functions of the module that have led to a node, the last one first, with their arguments."""
Step = tuple[ast.expr | None, Entered, tuple[int, ...]]
"""An expression, how it was reached, and which part of it is meant."""


class Values(Functions):
    """A module whose values are followed back; several answers mean that it depends."""

    def __init__(self, root: ast.Module) -> None:
        super().__init__(root)
        self._kinds: dict[Hashable, Kind | None] = {}

    def origins(self, node: ast.expr, *keys: Key) -> list[Part]:
        """Return everything that an expression, or a part of it, may stand for, itself first."""
        return _reached(Part(node, keys), self._back)

    def is_end(self, part: Part) -> bool:
        """Return whether the source of a part is unknown."""
        return not any(self._back(part))

    def ingredients(self, node: ast.expr, without: Collection[str] = ()) -> set[Node]:
        """Return everything that a value may be computed from, but for members of some names."""

        def back(part: Part) -> Iterator[Part | None]:
            if getattr(part.node, "attr", "") not in {*without} - {""}:
                found = [each for each in self._back(part) if each]
                yield from found
                yield from [] if part.path and found else map(Part, self._held(part.node))

        return {part.node for part in _reached(Part(node), back)}

    def kind(self, node: ast.expr, *keys: Key) -> Kind | None:
        """Return the kind that an expression, or a part of it, certainly has, or None."""
        part = Part(node, keys)
        key = self._key(part)
        if key not in self._kinds:
            self._kinds[key] = None
            self._kinds[key] = self._kind(part)
        return self._kinds[key]

    def class_kind(self, owner: ast.ClassDef, below: tuple[ast.ClassDef, ...] = ()) -> Kind | None:
        for base in owner.bases if owner not in below else ():
            bound = (it.node for it in self.bindings_of(base) if isinstance(it.node, ast.ClassDef))
            own = (self.class_kind(each, (*below, owner)) for each in bound)
            if found := made_by(self.dotted(base)) or next(filter(None, own), None):
                return found
        return None

    def _kind(self, start: Part) -> Kind | None:
        """Return the kind that every source of a value has, or None."""
        found: set[Kind | str | None] = set()

        def back(part: Part) -> Iterator[Part]:
            for each in self._made(part):
                if isinstance(each, Part):
                    yield each
                else:
                    found.add(each if isinstance(each, str) else _through(part, each))

        if len(_reached(start, back, self._key)) >= _MOST:
            return None
        if found == {"strategy"}:
            return Kind.STRATEGY
        kinds = {each for each in found if not isinstance(each, str)}
        return kinds.pop() if len(kinds) == 1 else None

    def _key(self, part: Part) -> Hashable:
        """Return the same for all places that read one name, or one member."""
        node: Hashable = part.node
        if bindings := self.bindings_of(part.node):
            node = id(bindings)
        elif isinstance(part.node, ast.Attribute) and (owner := self.class_of(part.node.value)):
            node = owner, part.node.attr
        return node, part.path, part.maker

    def _made(self, part: Part) -> Iterator[Part | Kind | str | None]:
        """Yield the sources of a part, or the kind that makes it; None where that is unknown."""
        changed = any(isinstance(it.node, ast.AugAssign) for it in self.bindings_of(part.node))
        match part.node:
            case ast.arg(arg=name, annotation=annotation):
                kind = made_by(self.dotted(_plain(annotation))) if annotation else None
                given = [kind] if kind else [*self._back(part)]
                yield from given
                if not kind and not annotation and STRATEGY_NAME.fullmatch(name.lower()):
                    yield "strategy"  # Unless something else is given for it.
                elif not given:
                    yield None
            case ast.Call() as call:
                yield from self._made_by_call(part, call)
            case ast.Subscript(
                value=value,
                slice=ast.Slice(
                    lower=ast.Name() | ast.BinOp(), upper=ast.BinOp(op=ast.Add() | ast.Mult())
                ),
            ):  # A window that moves over rows.
                yield Kind.SHARE if self.kind(value) is Kind.SHARE else Kind.BATCH
            case ast.Name() if changed and not part.path:
                yield None
            case _:
                yield from self._back(part)

    def _made_by_call(self, part: Part, call: ast.Call) -> Iterator[Part | Kind | None]:
        func, function, owner = call.func, self.meant(call.func), self.class_of(call)
        func, dotted = self.resolved(func), self.dotted(func)
        method = func.attr if isinstance(func, ast.Attribute) and not (function or dotted) else ""
        if dotted == "tensorflow_datasets.load":
            split, several = argument(call, None, "split"), argument(call, None, "with_info")
            chosen = isinstance(split, ast.Constant) and bool(split.value)
            yield Kind.DATASET if chosen and not several else None
        elif kind := made_by(dotted):
            yield kind
        elif owner or function in self.generators or isinstance(function, ast.AsyncFunctionDef):
            yield self.class_kind(owner) if owner else None
        elif method in DISTRIBUTING:
            yield Kind.DISTRIBUTED
        elif isinstance(func, ast.Attribute) and method in RUNS:
            is_run = self.kind(func.value) is Kind.STRATEGY and self._differs(call, part.path)
            yield Kind.SHARE if is_run else None
        elif isinstance(func, ast.Attribute) and (method in OF_DATASETS or method[:4] == "flow"):
            maker = Kind.DATASET if method in OF_DATASETS else Kind.GENERATOR
            yield Part(func.value, part.path, maker)
        else:
            yield from self._back(part)

    def _differs(self, run: ast.Call, path: tuple[Key, ...]) -> bool:
        """Return whether `strategy.run` may return a value of its own for each replica.

        A variable, and an object that all of them share, is returned unchanged.
        """
        owner = getattr(run.func, "value", run)
        makers = [it.node for it in self.origins(owner) if isinstance(it.node, ast.Call)]
        devices = [getattr(argument(each, 0, "devices"), "elts", ()) for each in makers]
        alone = {ONE_DEVICE, *ANY_STRATEGY}
        if makers and all(
            len(names) == 1 or self.dotted(each.func) in alone
            for each, names in zip(makers, devices, strict=True)
        ):
            return False
        function = self.meant(argument(run, 0, "fn"))
        for value in self.returned[function]:
            parts = _elements(value, path[0]) if path else None
            for each in [value] if parts is None else parts:
                outer = function and not self.is_bound_in(each, function)
                same = isinstance(each, ast.Attribute | ast.Constant)
                if same or (isinstance(each, ast.Name) and outer):
                    return False
        return True

    def _back(self, part: Part) -> Iterator[Part | None]:
        """Yield the possible sources of a part; None where one is unknown."""
        match part.node:
            case ast.Name() | ast.Attribute() as node:
                yield from self._read(part, node)
                yield from map(part.element, self.stored(node) if part.path else ())
            case ast.arg() as parameter:
                for value, is_each in self.given(parameter):
                    yield part.of(value, *([None] if is_each else []))
            case ast.BoolOp() | ast.IfExp() as node:
                either = node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse)
                yield from map(part.of, either)
            case ast.Subscript(value=value, slice=ast.Constant(value=int() | str() as key)):
                yield part.of(value, key)
            case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Slice):
                yield part.of(value, None)
            case ast.NamedExpr() | ast.Await() | ast.Starred() | ast.Subscript() as node:
                yield part.of(node.value)
            case ast.Call() as call:
                yield from self._called(part, call)
            case ast.BinOp(left=first, op=ast.Add(), right=second) if part.path:
                yield from (part.of(first), part.of(second))
            case node:
                nothing = isinstance(node, ast.Constant) and node.value is None
                found = _elements(node, part.path[0]) if part.path else [] if nothing else None
                yield from [None] if found is None else map(part.element, found)

    def _read(self, part: Part, node: ast.Name | ast.Attribute) -> Iterator[Part | None]:
        if isinstance(node, ast.Attribute):
            owner = self.class_of(node.value)
            yield from map(part.of, self.member_values(owner, node.attr) if owner else [None])
            return
        for each in self.bindings_of(node):
            if isinstance(each.node, ast.arg):
                yield part.of(each.node)
            elif isinstance(each.node, ast.AugAssign):
                yield part.of(each.node.value)
            else:
                yield part.of(each.value, *([None] if each.is_each else []), *each.path)
        if not self.bindings_of(node):
            yield None

    def stored(self, node: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
        bindings = self.bindings_of(node)
        loads = self.loads[getattr(node, "id", "")]
        places: Iterable[ast.expr] = (it for it in loads if self.bindings_of(it) is bindings)
        for each in self.members(node) if isinstance(node, ast.Attribute) else places:
            parent = self.parents[each]
            above = self.parents.get(parent)
            if isinstance(parent, ast.Attribute) and parent.attr == "append":
                yield from above.args if isinstance(above, ast.Call) else ()
            elif isinstance(parent, ast.Subscript) and isinstance(above, ast.Assign):
                yield from [above.value] if parent in above.targets else []

    def _called(self, part: Part, call: ast.Call) -> Iterator[Part | None]:
        func, path = call.func, part.path
        owner = func.value if isinstance(func, ast.Attribute) else None
        name, plain = self.dotted(func), last_name(func)
        first = owner or (call.args[0] if call.args else None)
        if function := self.meant(func):
            yield from map(part.of, self.returned[function])
        elif name and name not in _SAME_ELEMENTS and not repeated(call):
            yield None
        elif plain in {"next", "__next__", "get_next"}:
            yield part.of(first, None)
        elif plain in {"iter", "__iter__"} or (owner and plain == "values"):
            yield part.of(first)
        elif not owner and plain == "zip" and len(path) > 1:
            key = path[1]
            chosen = call.args[key : key + 1] if isinstance(key, int) else call.args
            yield from map(part.inside, chosen)
        elif first and plain == ("items" if owner else "enumerate") and path[1:2] == (1,):
            yield part.inside(first)
        elif not owner and plain == "dict" and first and path:
            yield Part(first, (None, 1, *path[1:]), part.maker)
        elif path and plain != "enumerate" and {name, "" if owner else plain} & _SAME_ELEMENTS:
            yield part.of(call.args[0] if call.args else None)
        else:
            found = repeated(call) if path else []
            yield from map(part.element, found) if found else [None]

    def stages(self, dataset: ast.expr) -> Iterator[tuple[ast.Call, Entered]]:
        """Yield the calls through which a dataset may come, the last one first."""
        waiting: list[Step] = [(dataset, (), ())]
        passed: set[Step] = set()
        while waiting and len(passed) < _MOST:
            step = waiting.pop()
            if step not in passed:
                passed.add(step)
                node, entered, _ = step
                if isinstance(node, ast.Call) and self.follow(node.func) is None:
                    yield node, entered
                waiting += [*self._before(*step)][::-1]

    def _before(
        self, node: ast.expr | None, entered: Entered, path: tuple[int, ...]
    ) -> Iterator[Step]:
        """Yield the possible sources of a dataset, one step back."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) as call if (
                name in OF_DATASETS
            ):
                meant = self.follow(argument(call, 0)) if name == "apply" else None
                inside = (meant.filled([owner], {}), *entered) if meant else entered
                results = self.returned[meant.function] if meant else [owner]
                yield from ((each, inside, ()) for each in results)
            case ast.Call() as call if meant := self.follow(call.func):
                named = {each.arg: each.value for each in call.keywords}
                inside = (meant.filled(call.args, named), *entered)
                yield from ((each, inside, path) for each in self.returned[meant.function])
            case ast.Call() as call if self.called(call) in _JOINS:
                yield from ((each, entered, ()) for each in call.args)
            case ast.Tuple(elts=several) | ast.List(elts=several):
                chosen = several[path[0] :][:1] if path else several
                yield from ((each, entered, path[1:]) for each in chosen)
            case ast.IfExp(body=first, orelse=second):
                yield from ((first, entered, path), (second, entered, path))
            case ast.Name() as name:
                for value, through, part in self._bound(name, entered):
                    yield value, through, (*part, *path)

    def _bound(self, name: ast.Name, entered: Entered) -> Iterator[Step]:
        """Yield the values of a name where it is read, back to the certain one."""
        bindings = self.bindings_of(name)
        here = self.position(self.statement_of(name) or name)
        before = [each for each in bindings if self.position(each.node) < here]
        for each in sorted(before or bindings[:1], key=lambda it: self.position(it.node))[::-1]:
            if isinstance(each.node, ast.arg):
                yield from ((it, entered[1:], ()) for it in self._given(each.node, entered))
            elif each.is_assigned and each.value and self.agree(name, each.node):
                yield each.value, entered, each.path
                # A value that reads the name leads to the earlier ones by itself.
                if any(getattr(it, "id", "") == name.id for it in self.walk(each.value)):
                    return
            if self.binding_at(name, [each]):
                return

    def given_by(self, entered: Entered, node: ast.AST) -> list[ast.expr | None]:
        """Return the values of a name that is a parameter, by the calls that have led there."""
        binding = self.only(node) if entered else None
        parameter = binding.node if binding else None
        return self._given(parameter, entered) if isinstance(parameter, ast.arg) else []

    def _given(self, parameter: ast.arg, entered: Entered) -> list[ast.expr | None]:
        if entered and entered[0].function is self.function_with(parameter):
            found = entered[0].give(parameter)
            return [found[0]] if found else []
        return [value for value, _ in self.given(parameter)]

    def _held(self, node: ast.AST) -> Iterator[ast.expr]:
        """Yield the expressions that a node holds, without those inside of them."""
        for each in self.children[node]:
            yield from [each] if isinstance(each, ast.expr) else self._held(each)


def repeated(node: Node) -> list[ast.expr]:
    """Return the element that `itertools.repeat` and `dict.fromkeys` repeat."""
    index = _REPEATED.get(ast.unparse(node.func)) if isinstance(node, ast.Call) else None
    return node.args[index : index + 1] if isinstance(node, ast.Call) and index is not None else []


def _reached(
    start: Part,
    back: Callable[[Part], Iterable[Part | None]],
    key: Callable[[Part], Hashable] = lambda part: part,
) -> list[Part]:
    found = {key(start): start}
    waiting = [start]
    while waiting and len(found) < _MOST:
        for each in back(waiting.pop()):
            if each and key(each) not in found and len(each.path) <= _DEEPEST:
                found[key(each)] = each
                waiting.append(each)
    return list(found.values())


def _through(part: Part, kind: Kind | None) -> Kind | None:
    """Return the kind of a part, by the kind of the whole."""
    if part.maker not in {None, kind}:
        return None
    kind = Kind.DATASET if kind is Kind.GENERATOR and part.maker else kind
    return ELEMENTS.get(kind) if part.path and kind else kind


def _elements(node: Node, key: Key) -> list[ast.expr] | None:
    """Return the candidates for a key of a container display; None for another node."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            starred = any(isinstance(each, ast.Starred) for each in elts)
            known = isinstance(key, int) and key >= 0 and not starred
            return elts[key : key + 1] if known and isinstance(key, int) else elts
        case ast.Dict(keys=keys, values=values):
            names = [getattr(each, "value", None) for each in keys]
            return [values[names.index(key)]] if key is not None and key in names else values
        case ast.BinOp(left=left, op=ast.Mult()):
            return _elements(left, None)
        case ast.DictComp(value=element):
            return [element]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return [node.elt]
    return None


def _plain(annotation: ast.expr) -> ast.expr:
    """Return the type of `X | None` and `Optional[X]`."""
    match annotation:
        case ast.BinOp(left=plain, right=ast.Constant()):
            return plain
        case ast.Subscript(slice=ast.Name() | ast.Attribute() as plain):
            return plain
    return annotation
