"""Trains as a trial does, and reads meanwhile which values tf.data's AUTOTUNE has chosen.

The program's text stays as it is. Where a strategy feeds replicas, it reads the input through a
plain iterator, because TensorFlow exposes the values of no other.
"""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child.program import input_of
from autotune.engine.events import EventWriter
from autotune.owner import Owner, kind_of

PARAMETER = "num_parallel_calls"
MARK = 7919
"""A number that no program writes by itself: a stage that takes it got it from its parameter."""
_NUMBERS = ("_num_parallel_calls", "_buffer_size")
READ_AT = (1.0, 2.0, 3.0)
"""Seconds past the first call at which the numbers are read."""
NOT_OFFERED = "This TensorFlow version does not expose the values chosen by AUTOTUNE."


class Stage(NamedTuple):
    """A stage that the program wrote."""

    kind: str
    number: int | None
    """What it was given; None where it runs one call after the other."""

    @property
    def left(self) -> bool:
        """Whether its number is left to AUTOTUNE."""
        return bool(self.number == tf.data.AUTOTUNE)


class FactoryCall(NamedTuple):
    """How the program called its dataset factory, and what it got."""

    factory: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    result: Any


def stages(dataset: Any) -> Iterator[Stage]:
    """Yield the stages of a dataset, the last one first."""
    kind = kind_of(type(dataset).__name__.lstrip("_").removesuffix("Dataset"))
    if kind:
        given = (getattr(dataset, name, None) for name in _NUMBERS)
        yield Stage(kind, next((int(each) for each in given if each is not None), None))
    for source in dataset._inputs():  # noqa: SLF001 - nothing public tells
        yield from stages(source)


def leaves_numbers(dataset: Any) -> bool:
    """Return whether any stage of a dataset is left to AUTOTUNE."""
    try:
        return any(each.left for each in stages(dataset))
    except AttributeError:  # Private: where TensorFlow has changed, nobody knows.
        return True


def owners(dataset: Any, call: FactoryCall) -> list[tuple[str, str]]:
    """Return each stage of a program's dataset, the last one first, with who left it to AUTOTUNE.

    Nobody, as an empty text, where it has a number or runs one call after the other.

    Args:
        dataset: What the program trains on.
        call: How it got the factory's part of it.
    """
    whole, part = [*stages(dataset)], [*stages(call.result)]
    # The program only adds stages, so the last ones in this order are the factory's.
    found = [Owner.PREFETCH] * (len(whole) - len(part)) + _of_factory(part, call)
    pairs = zip(whole, found, strict=True)
    return [(stage.kind, str(owner) if stage.left else "") for stage, owner in pairs]


def _of_factory(part: list[Stage], call: FactoryCall) -> list[Owner]:
    """Return who would have left each of the factory's stages to AUTOTUNE."""
    given = call.options.get(PARAMETER) == tf.data.AUTOTUNE
    if not given or not any(each.left for each in part):
        return [Owner.FACTORY] * len(part)
    marked = [*stages(call.factory(*call.arguments, **{**call.options, PARAMETER: MARK}))]
    if [each.kind for each in marked] != [each.kind for each in part]:
        return [Owner.UNKNOWN] * len(part)  # It builds another pipeline for another number.
    return [Owner.FACTORY if each.left else Owner.NUM_PARALLEL_CALLS for each in marked]


class Pipeline:
    """Takes note of how a program makes its input.

    Args:
        program: Is about to train.
    """

    def __init__(self, program: ModuleType) -> None:
        self._call: FactoryCall | None = None
        self._dataset: Any = None
        name = input_of(program)
        factory, make = getattr(program, name), program.make_dataset

        def given(*arguments: Any, **options: Any) -> Any:
            result = factory(*arguments, **options)
            self._call = FactoryCall(factory, arguments, options, result)
            return result

        def make_dataset(*arguments: Any, **options: Any) -> Any:
            self._dataset = make(*arguments, **options)
            return self._dataset

        vars(program).update({name: given, "make_dataset": make_dataset})

    def owners(self) -> list[tuple[str, str]]:
        """Return its stages, the last one first, with who left each to AUTOTUNE, if anybody."""
        if self._call is None or self._dataset is None:
            return []
        try:
            return owners(self._dataset, self._call)
        except Exception:  # noqa: BLE001 - private parts of TensorFlow, and the user's code again
            return []


class Feeds:
    """The plain iterators from which the replicas of a strategy are fed."""

    def __init__(self) -> None:
        # The training decides how long they live.
        self._iterators: weakref.WeakSet[Any] = weakref.WeakSet()

    def insert(self) -> None:
        """Have every input that a strategy makes from now on read through one of them."""
        from tensorflow.python.distribute import input_lib  # noqa: PLC0415 - private

        kind = input_lib._SingleWorkerOwnedDatasetIterator  # noqa: SLF001 - nothing public does it
        original = kind._make_iterator  # noqa: SLF001 - as above

        def make_iterator(fed: Any) -> None:
            with tf.device(fed._worker):  # noqa: SLF001 - as above
                iterator = iter(fed._dataset)  # noqa: SLF001 - as above
            self._iterators.add(iterator)
            fed.read_through = iterator
            fed._dataset = _through(iterator)  # noqa: SLF001 - as above
            original(fed)

        kind._make_iterator = make_iterator  # noqa: SLF001 - as above

    def iterators(self) -> list[Any]:
        """Return those that are there; without a strategy, all of the process."""
        return [*self._iterators] or _all_iterators()


class ReadOutCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Reads, some seconds after the first call, what AUTOTUNE has chosen, and tells it.

    Args:
        writer: Brings it to the tuner.
        pipeline: Of the program that is being trained.
        feeds: Of its replicas.
    """

    async_safe = True

    def __init__(self, writer: EventWriter, pipeline: Pipeline, feeds: Feeds) -> None:
        super().__init__()
        self._feeds = feeds
        self._writer = writer
        self._pipeline = pipeline
        self._lock = threading.Lock()
        self._since: float | None = None
        self._due = list(READ_AT)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - given
        """Read if it is time to."""
        with self._lock:
            now = time.monotonic()
            if self._since is None:
                self._since = now
            passed = now - self._since
            if self._due and passed >= self._due[0]:
                self._due = [each for each in self._due if each > passed]
                self._writer.write(events.READ_OUT, seconds=passed, **self._read())

    def _read(self) -> dict[str, Any]:
        try:
            nodes = read(self._feeds.iterators())
        except AttributeError:
            return {"why_not": NOT_OFFERED}
        except (tf.errors.OpError, LookupError) as exc:
            return {"why_not": _sentence(exc)}
        # With the last reading, because the factory may be called once more.
        return {"nodes": nodes, "stages": [] if self._due else self._pipeline.owners()}


def read(iterators: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the nodes of TensorFlow's model of the input, the last stage first.

    Args:
        iterators: Among them that of the training, which has given more than any other.

    Raises:
        AttributeError: This TensorFlow offers no such thing.
        LookupError: There is no iterator.
    """
    tell = tf.data.experimental.get_model_proto
    models = [tell(iterator) for iterator in iterators]
    if not models:
        raise LookupError("There is no tf.data iterator in the training process.")
    model = max(models, key=lambda each: each.nodes[each.output].num_elements)
    ids = sorted(model.nodes, key=lambda each: (each != model.output, each))
    return [_as_json(model.nodes[each]) for each in ids]


def _all_iterators() -> list[Any]:
    """Return all iterators of this process: Keras keeps its own out of reach."""
    return [each for each in gc.get_objects() if issubclass(type(each), tf.data.Iterator)]


def _through(iterator: Any) -> Any:
    """Return a dataset that gives what an iterator gives."""
    return tf.data.Dataset.counter().map(lambda _: iterator.get_next())


def _as_json(node: Any) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "inputs": [*node.inputs],
        "parameters": [
            {"name": each.name, "value": each.state_value, "tunable": each.tunable}
            for each in node.parameters
        ],
    }


def _sentence(exc: Exception) -> str:
    text = " ".join(str(getattr(exc, "message", exc)).split())
    return text if text.endswith(".") else f"{text}."
