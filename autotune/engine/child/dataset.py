"""A dataset by itself: how programs have it, how fast it comes, what differs between two passes.

Reading takes a limited time, and goes on without a dataset that blocks.
"""

import hashlib
import math
import pickle
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Generic, NamedTuple, Self, TypeVar

import keras
import numpy as np
import tensorflow as tf

from autotune.engine.child import private
from autotune.engine.child.surroundings import patched
from autotune.engine.events import SAID
from autotune.errors import FactoryFailed
from autotune.library.keras_input import batches_of, full_batches, read_by_python
from autotune.shared_values import Change

BATCH = 32
"""Given to a factory that batches by itself."""
_LOOKED_AT = 64
"""Batches whose sizes are compared."""
_LOOKING_SECONDS = 60.0
"""The first of them may be long in coming; the request for the facts has a limit of its own."""


class Taken(NamedTuple):
    """A dataset as the program has it, of examples or of batches."""

    dataset: Any
    size: int
    """Examples in one of its elements."""
    batched: bool
    returned: dict[str, bool]
    """What was returned, as the facts say it."""
    examples: int | None = None
    """None where only the dataset knows."""
    least: int = tf.data.UNKNOWN_CARDINALITY
    """The fewest elements that it has; below zero where that is unknown."""
    own_batch: int | None = None
    """Examples in the batches that were returned; None where they were not batches."""
    once: bool = False
    """Whether it can be read once."""
    every: Any = None
    """The same with the batches that are not full; None where it has these or there are none."""


def taken_from(made: Any, *, batched: bool, unbatch: bool) -> Taken:
    """Return the dataset that a program makes of what the factory returned."""
    beside = has_validation(made)
    data = made[0] if beside else made
    returned = {"beside": True} if beside else {}
    by_python = isinstance(data, keras.utils.PyDataset)
    if not isinstance(data, tf.data.Dataset):
        if unbatch:
            why = "whose batches are always taken" if by_python else "which has no batches to take"
            raise FactoryFailed(
                f"dataset_fn returned {class_of(data)}, {why} apart.", "Omit --unbatch."
            )
        return _from_python(data, returned) if by_python else _from_arrays(data, returned)
    if unbatch:
        return _from_batches(data, returned)
    if not batched:
        return Taken(data, 1, batched=False, returned=returned)
    shapes = [getattr(each, "shape", None) for each in tf.nest.flatten(data.element_spec)]
    if all(each is not None and each.rank and each[0] == BATCH for each in shapes):
        return Taken(data, BATCH, batched=True, returned=returned)
    if found := other_sizes(data, BATCH):
        raise FactoryFailed(
            f"dataset_fn was called with batch_size={BATCH}, but its batches hold {found} "
            "examples.",
            "Make batches of batch_size examples (for bucket_by_sequence_length: "
            "bucket_batch_sizes=[batch_size] * number of buckets), from at least as many examples.",
        )
    least = max(int(data.cardinality()) - 1, tf.data.UNKNOWN_CARDINALITY)
    returned["uneven"] = True
    full = full_batches(data, BATCH)
    return Taken(full, BATCH, batched=True, returned=returned, least=least, every=data)


def has_validation(made: Any) -> bool:
    """Return whether data for the validation stands behind the data for the training."""
    if not isinstance(made, tuple) or len(made) != 2:
        return False
    one, other = made
    if isinstance(one, tf.data.Dataset | keras.utils.PyDataset):
        return True
    tuples = isinstance(one, tuple) and isinstance(other, tuple)
    # Features and labels would be of one length.
    return tuples and length_of(one) != length_of(other)


def _from_arrays(data: Any, returned: dict[str, bool]) -> Taken:
    arguments = isinstance(data, tuple)
    try:
        length = length_of(data)
        size = min(BATCH, length or BATCH)
        dataset = batches_of(*(data if arguments else [data]), batch_size=size)
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, which cannot become a dataset: {SAID}.",
            "Return a tf.data.Dataset, or arrays as Model.fit takes them: x, (x, y) or "
            "(x, y, sample_weight). Wrap Python code that yields examples in "
            "tf.data.Dataset.from_generator.",
        ) from exc
    returned |= {"arrays": True, "arguments": arguments}
    return Taken(dataset, size, batched=True, returned=returned, examples=length)


def _from_python(data: Any, returned: dict[str, bool]) -> Taken:
    try:
        read, own = read_by_python(data), length_of(data[0])
    except Exception as exc:
        raise FactoryFailed(
            f"dataset_fn returned {class_of(data)}, whose first batch cannot be read: {SAID}.",
            "Check that its __getitem__(0) returns arrays or tensors, in a batch.",
        ) from exc
    returned["by_python"] = True
    full, every = (read.rebatch(BATCH, drop_remainder=drops) for drops in (True, False))
    return Taken(full, BATCH, batched=True, returned=returned, own_batch=own, every=every)


def _from_batches(dataset: Any, returned: dict[str, bool]) -> Taken:
    sizes = _sizes(dataset, 1)
    own = sizes[0] if sizes else 0
    least = (int(dataset.cardinality()) - 1) * own
    returned["unbatched"] = True
    dataset = dataset.unbatch()
    return Taken(dataset, 1, batched=False, returned=returned, least=least, own_batch=own)


def other_sizes(dataset: Any, size: int) -> str:
    """Return the range of the batches' sizes; empty where most examples are in those of a size."""
    sizes = _sizes(dataset, _LOOKED_AT)
    if sizes and sizes.count(size) * size * 2 < sum(sizes):
        return " to ".join(str(each) for each in sorted({min(sizes), max(sizes)}))
    return ""


def _sizes(dataset: Any, count: int) -> list[int]:
    batches = read_within(_LOOKING_SECONDS, dataset.take(count)).values
    return [length_of(batch) or 0 for batch in batches]


def class_of(value: Any) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return "nothing" if value is None else f"a {module}{kind.__qualname__}"


T = TypeVar("T")

_STRETCHES = 16
"""Of a pass at least, where its length is known: the first is compared with the others."""
_MOST_AT_ONCE = 8
_MANY_AT_ONCE = 64
"""Where their number is not known: to count them matters more."""


@dataclass(frozen=True)
class Progress(Generic[T]):
    values: tuple[T, ...]
    done: bool
    """Whether it came to its end by itself."""
    error: Exception | None
    """What ended it."""


def within(seconds: float, work: Iterable[T]) -> Progress[T]:
    """Take values from `work` until it ends, fails, or the time is over.

    It runs in a thread, which is left behind if it blocks; so this is for a process that ends soon.
    """
    values: list[T] = []
    errors: list[Exception] = []
    done = threading.Event()
    deadline = time.monotonic() + seconds

    def take() -> None:
        try:
            for value in work:
                if time.monotonic() > deadline:
                    return
                values.append(value)
        except Exception as exc:  # noqa: BLE001 - the caller sees it
            errors.append(exc)
        else:
            done.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(seconds)
    return Progress(tuple(values), done.is_set(), errors[0] if errors else None)


class Stretch(NamedTuple):
    """Some examples of a pass."""

    examples: int
    """Read so far, these included."""
    seconds: float
    """Since the pass began."""


def read_pass(dataset: Any, patience: float, known: int, *, batched: bool) -> Progress[Stretch]:
    """Read a dataset once, as fast as it comes.

    Fewer and larger stretches leave its Python code more of the interpreter's time.
    """
    most = max(1, min(_MOST_AT_ONCE, known // _STRETCHES)) if known >= 0 else _MANY_AT_ONCE

    def measured(*element: Any) -> Any:
        # Numbers instead of examples: nothing but the dataset is to take time.
        return _rows(element) if batched else tf.constant(1, tf.int64)

    return read_within(patience, _stretches(dataset.map(measured).batch(most)))


def read_within(seconds: float, elements: Iterable[T]) -> Progress[T]:
    """Read a dataset as far as the time lets one come.

    Raises:
        FactoryFailed: It fails.
    """
    progress = within(seconds, elements)
    if progress.error is None:
        return progress
    raise FactoryFailed(
        f"The dataset failed while it was read: {SAID}.",
        "Fix dataset_fn so that you can iterate over its dataset.",
    ) from progress.error


def pass_facts(progress: Progress[Stretch]) -> dict[str, Any] | None:
    """Return what a pass has shown; None if not even its beginning."""
    if len(progress.values) < 2:
        return None
    last = progress.values[-1]
    usual = median(after.seconds - before.seconds for before, after in pairwise(progress.values))
    return {
        "examples": last.examples,
        "seconds": last.seconds,
        "whole": progress.done,
        # The time that the first examples took beyond that of others.
        "pause": max(progress.values[0].seconds - usual, 0.0),
    }


def _stretches(measured: Any) -> Iterator[Stretch]:
    began, total = time.perf_counter(), 0
    for rows in measured:
        total += int(rows.numpy().sum())
        yield Stretch(total, time.perf_counter() - began)


def length_of(arrays: Any) -> int | None:
    """Return the first dimension of the first component; None where it has none."""
    shape = getattr(keras.tree.flatten(arrays)[0], "shape", ())
    return int(shape[0]) if shape else None


def _rows(element: Any) -> Any:
    """Return how many examples a batch has."""
    first = tf.nest.flatten(element)[0]
    if isinstance(first, tf.RaggedTensor):
        return tf.cast(first.nrows(), tf.int64)
    if isinstance(first, tf.SparseTensor):
        return first.dense_shape[0]
    return tf.shape(first, tf.int64)[0]


_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_DRAWS = re.compile(
    r"(?!Stateless)(.*Random(?!Index)|Rng|Stateful(Uniform|Standard|Truncated)|.*TruncatedNormal"
    r"|Multinomial|SampleDistorted|ShuffleDataset|ShuffleAndRepeat|Assign.*Variable)"
)
"""Operations that give something else in every pass. An assignment counts or draws."""
_EACH = frozenset({"Map", "ParallelMap", "Prefetch", "Options", "Filter", "AssertCardinality"})
"""Stages to which the order of their examples is nothing."""
_MANY = frozenset({"FlatMap", "Interleave", "ParallelInterleave", "Shuffle", "Cache"})
"""Those that make of examples in another order others in another order."""


class Randomness(NamedTuple):
    """The difference between two passes, as far as the stages tell."""

    change: Change = Change.NOTHING
    stage: str = ""
    """The last one that draws."""
    shuffle: int = 0
    """The buffer of the shuffle that is the only such stage and behind which each example stands
    for itself; 0 for any other."""


def runs_python(dataset: Any) -> bool:
    return any(not _PYTHON.isdisjoint(_ops(each)) for each in _stages(dataset))


def holds_cache(dataset: Any) -> bool:
    """Return whether a pass reads from a cache what the first one has left there."""
    return any(private.kind_of(each) == "Cache" for each in _stages(dataset))


def frozen(dataset: Any) -> str:
    """Return a stage below a cache that draws what the cache then keeps, but for an order."""
    caches = (each for each in _stages(dataset) if private.kind_of(each) == "Cache")
    below = (stage for cache in caches for stage in _stages(cache) if _draws(stage))
    return next((name for each in below if (name := private.kind_of(each)) != "Shuffle"), "")


def prefetched(dataset: Any, size: int) -> int:
    """Return the examples that the stages of a dataset may hold ready, where they have a number."""
    total = 0
    for stage in _stages(dataset):
        size = 1 if "Batch" in private.kind_of(stage) else size
        if private.kind_of(stage) == "Prefetch":
            total += private.buffer_of(stage) * size
    return total


def randomness(dataset: Any) -> Randomness:
    """Return what differs between two passes, if Python code does not add to it."""
    stages = [*_stages(dataset)]
    random = [each for each in stages if _draws(each)]
    if not random:
        return Randomness()
    names, last = {private.kind_of(each) for each in random}, random[0]
    above = {private.kind_of(each) for each in stages[: stages.index(last)]}
    if names != {"Shuffle"} or not _chained(dataset, random[-1]):
        return Randomness(Change.EXAMPLES, private.kind_of(last))
    alone = len(random) == 1 and above <= _EACH
    buffer = private.buffer_of(last) if alone else 0
    return Randomness(Change.ORDER, private.kind_of(last), buffer)


def _chained(dataset: Any, last: Any) -> bool:
    """Whether nothing up to a stage makes other examples of another order."""
    while dataset is not last:
        sources = private.sources_of(dataset)
        if private.kind_of(dataset) not in _EACH | _MANY or len(sources) != 1:
            return False
        dataset = sources[0]
    return True


def _draws(stage: Any) -> bool:
    if private.kind_of(stage) == "Shuffle":
        return not private.keeps_order(stage)
    return private.kind_of(stage) == "Random" or any(_DRAWS.match(op) for op in _ops(stage))


def _stages(dataset: Any) -> Iterator[Any]:
    yield dataset
    for source in private.sources_of(dataset):
        yield from _stages(source)


def _ops(stage: Any) -> Iterator[str]:
    for function in private.functions_of(stage):
        graph = function.function.graph.as_graph_def()
        yield from (node.op for node in graph.node)
        for inner in graph.library.function:
            yield from (node.op for node in inner.node_def)


_FEW = 64
"""Examples of each pass where no Python code adds to what the stages show."""
_SECONDS = 0.5
"""Of the first pass where some does."""
_END = b"end"
_WORSE = (Change.NOTHING, Change.ORDER, Change.EXAMPLES)


def changes(dataset: Any, patience: float) -> Randomness:
    """Return what differs between two passes over a dataset, and the stage that makes it."""
    try:
        found, opaque = randomness(dataset), runs_python(dataset)
    except AttributeError:  # Private: where TensorFlow has changed, only reading tells.
        found, opaque = Randomness(), True
    if not opaque and found.change is not Change.NOTHING:
        return found
    seen = _read_twice(dataset if opaque else dataset.take(_FEW), patience)
    return found if _WORSE.index(seen) <= _WORSE.index(found.change) else Randomness(seen)


def tensors(element: Any) -> list[Any]:
    flat: list[Any] = tf.nest.flatten(element, expand_composites=True)
    return [each.numpy() for each in flat]


def _read_twice(dataset: Any, patience: float) -> Change:
    one = read_within(patience, _digests(dataset, _SECONDS)).values
    drawn = _python_state()
    other = read_within(patience, _digests(dataset.take(len(one)))).values
    shown = min(len(one), len(other))
    if _python_state() != drawn:
        # Python code goes on with one sequence of random numbers, however rarely it draws.
        return Change.EXAMPLES
    if shown and one[:shown] == other[:shown]:
        return Change.NOTHING
    whole = _END in one and Counter(one) == Counter(other)
    return Change.ORDER if whole else Change.EXAMPLES


def _python_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002 - the user's


def _digests(dataset: Any, seconds: float = math.inf) -> Iterator[bytes]:
    """Yield what each element is known by, and at the end of the dataset that it is one."""
    deadline = time.monotonic() + seconds
    for element in dataset:
        arrays = [np.asarray(each) for each in tensors(element)]
        # By their bytes, so that one NaN equals another.
        parts = [(a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in arrays]
        yield hashlib.sha256(pickle.dumps(parts)).digest()
        if time.monotonic() > deadline:
            return
    yield _END


_AGAIN = 64
"""Batches that a trial reads again where a generator has no more."""


def reads_once(data: Any) -> bool:
    """Whether data ends with its first pass, as a generator's does."""
    return hasattr(data, "__next__")


class ReadOnce:
    """Data that can be read once; while it keeps batches, each look at it begins with the same."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self._kept: list[Any] = []
        self.keeps = True
        self._error: Exception | None = None
        self._again: Iterator[Any] = iter(())
        self._reading = threading.Lock()  # A look that was given up may still wait for a batch.
        self.examples = 0
        """In all batches that it has given."""
        self.ended = False
        """Whether it has no more."""
        next(self, None)
        self.begin()
        self.batch = self.examples
        """Examples in its first batch; 0 where it has none."""

    def begin(self) -> None:
        self._again = iter([*self._kept])

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with self._reading:
            for batch in self._again:
                return batch
            return self._read()

    def _read(self) -> Any:
        if self._error:  # What has raised would seem to have ended.
            raise self._error
        try:
            batch = next(self._source)
        except StopIteration:
            self.ended = True
            raise
        except Exception as exc:
            self._error = exc
            raise
        self.examples += int(np.shape(keras.tree.flatten(batch)[0])[0])
        if self.keeps:
            self._kept.append(batch)
        return batch


def lasting(source: Iterator[Any]) -> Iterator[Any]:
    """Yield what can be read once, and its first batches again and again when it has ended."""
    kept: list[Any] = []
    for batch in source:
        if len(kept) < _AGAIN:
            kept.append(batch)
        yield batch
    while kept:
        yield from kept


class OpenGenerators:
    """Keeps generators open that datasets are read from, and finds those that are read once.

    An inspection ends before they do, and what it closes may be the only one: the user may go on
    with it.
    """

    def __init__(self) -> None:
        self.once = False
        """Whether a second reading was given the iterator of the first."""
        self._open: list[Any] = []

    def watching(self) -> AbstractContextManager[None]:
        """Watch the datasets that are made by `from_generator` meanwhile, from then on."""
        return patched((tf.data.Dataset, "from_generator", self._watched))

    def _watched(self, make: Callable[..., Any]) -> Any:
        def from_generator(generator: Callable[..., Any], *rest: Any, **options: Any) -> Any:
            def read(*arguments: Any) -> Iterator[Any]:
                made = iter(generator(*arguments))
                self.once = self.once or any(made is each for each in self._open)
                self._open.append(made)
                for element in made:  # noqa: UP028 - `yield from` would close it
                    yield element

            return make(read if callable(generator) else generator, *rest, **options)

        return staticmethod(from_generator)
