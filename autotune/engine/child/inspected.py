"""Inspects the dataset and the model that factories gave, or that a script gives to its `fit`.

That includes what ties a model to its batches: state that it carries on, a size that is built in,
a loss that grows with them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.engine.child import private
from autotune.engine.child.dataset import (
    BATCH,
    Progress,
    Randomness,
    Stretch,
    Taken,
    changes,
    class_of,
    frozen,
    holds_cache,
    pass_facts,
    prefetched,
    read_pass,
    runs_python,
    tensors,
    within,
)
from autotune.engine.child.surroundings import before, patched
from autotune.engine.events import SAID, describe
from autotune.errors import DatasetTooSmall, FactoryFailed, WorkloadError
from autotune.library.keras_training import inner_optimizer, optimizers_of
from autotune.shared_values import Change, Count

_TRIED = 8
"""Examples on which a model is tried."""
_APART = 16
"""Batches whose examples are batched together with those of others."""
_COUNTING_SECONDS = 5.0
_READING_SECONDS = 2.0
"""For a pass that need not be counted."""
MOST_SHARDS = 16
"""Workers that are tried."""


def cacheable(handed: Sequence[Any], patience: float) -> list[dict[str, Any]]:
    """Return the facts of the datasets that a factory has handed to its parameter `cache`."""
    if not all(isinstance(each, tf.data.Dataset) for each in handed or [None]):
        raise FactoryFailed(
            "dataset_fn declares `cache`, but does not apply it to a dataset.",
            "Write `dataset = cache(dataset)` before what is random, or rename the parameter.",
        )
    return [_cacheable(each, patience) for each in handed]


def _cacheable(dataset: Any, patience: float) -> dict[str, Any]:
    patience, first = min(patience, _COUNTING_SECONDS), _first(dataset)
    known = int(dataset.cardinality())
    if known == tf.data.UNKNOWN_CARDINALITY:
        counted = read_pass(dataset, patience, known, batched=False)
        known = _read(counted) if counted.done and counted.values else known
    return {
        "elements": known if known >= 0 else None,
        "element_bytes": 0 if first is None else _bytes(first),
        "change": changes(dataset, patience).change,
    }


def offered(handed: list[Any]) -> dict[str, Any]:
    """Return the values of parameters that a dataset factory may declare.

    Its `cache` changes nothing, and appends each dataset to `handed`.
    """

    def cache(dataset: Any) -> Any:
        handed.append(dataset)
        return dataset

    return {
        "cache": cache,
        "input_context": tf.distribute.InputContext(
            num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1
        ),
        "batch_size": BATCH,
        "num_parallel_calls": tf.data.AUTOTUNE,
    }


class InspectedDataset:
    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._dataset = taken.dataset
        self._first: Any = None
        self._shrinks = False

    def read_first(self) -> None:
        self._first = _first(self._dataset)
        if self._first is None:
            raise DatasetTooSmall(
                "dataset_fn returned an empty dataset.",
                "Check its file paths and filters."
                + (f" It was called with batch_size={BATCH}." if self._taken.batched else ""),
            )

    def check_rank(self, wanted: Sequence[int]) -> None:
        """Make sure that what should be single examples are no batches."""
        features = keras.utils.unpack_x_y_sample_weight(self._first)[0]
        found = tf.nest.flatten(features)
        if self._taken.batched or [len(each.shape) for each in found] != list(wanted):
            return
        raise FactoryFailed(
            f"dataset_fn's dataset yields batches of {found[0].shape[0]}, not single examples.",
            "Declare the parameter `batch_size` and batch by it, or let autotune take the batches "
            "apart (--unbatch).",
        )

    def few(self, size: int | None = None) -> Any:
        if self._taken.batched:
            return self._first
        try:
            self._batch_apart()
            return next(iter(self._dataset.take(size or _TRIED).batch(size or _TRIED)))
        except Exception as exc:
            raise FactoryFailed(
                f"The examples cannot be batched: {SAID}.",
                "Yield examples of equal shape, or declare batch_size and use padded_batch of that "
                "size; --unbatch needs batches that are padded to one length.",
            ) from exc

    def _batch_apart(self) -> None:
        """Batch examples of several of the user's batches together, where shapes may differ."""
        shapes = [each.shape for each in tf.nest.flatten(self._dataset.element_spec)]
        # A pass would fill a cache, which is timed empty and full.
        if all(each.is_fully_defined() for each in shapes) or _stages_of(self._dataset, 1)[0]:
            return
        own = self._taken.own_batch or _TRIED
        apart = self._dataset.take(_APART * own).batch(own + max(own // 2, 1))
        # Numbers instead of examples, which need not be held.
        if error := within(_READING_SECONDS, apart.map(lambda *_: 0)).error:
            raise error

    def facts(self, patience: float) -> dict[str, Any]:
        patience = min(patience, _COUNTING_SECONDS)
        size = self._taken.size
        cached, frozen_stage, python, ready = _stages_of(self._dataset, size)
        # First, because any other pass may fill a cache.
        read, counted = self._passes(patience)
        once = self._taken.once or self._shrinks
        found = Randomness(Change.EXAMPLES) if once else changes(self._dataset, patience)
        shards = file_shards(self._dataset, patience)
        # Without the size of batches: which are looked at may depend on the time that a look has.
        one = self._dataset.unbatch() if self._taken.batched else self._dataset
        uncertain = {"examples": not counted, "file_shards": not shards.done}
        return {
            "returned": self._taken.returned,
            "example_bytes": _bytes(self._first) // size,
            "element": str(_ordered(one.element_spec)),
            "python_input": python,
            "repeatable": found.change is Change.NOTHING,
            "random_stage": found.stage,
            "shuffle_buffer": found.shuffle,
            "file_shards": shards.values[-1] if shards.values else 0,
            "uncertain": [name for name, is_so in uncertain.items() if is_so],
            "cached": cached,
            "frozen_stage": frozen_stage,
            "prefetched": ready,
            **read,
        }

    def _passes(self, patience: float) -> tuple[dict[str, Any], bool]:
        """Return the number of examples, what reading them alone has shown, and if it is certain.

        A number that is not known is counted; the least that it can be, or None, if that takes too
        long.
        """
        known, taken = int(self._dataset.cardinality()), self._taken
        counting = known == tf.data.UNKNOWN_CARDINALITY
        seconds = patience if counting else min(patience, _READING_SECONDS)
        known = max(known, taken.least)
        first = self._pass(seconds, known)
        counted = first.done and counting
        examples = _read(first) if counted else known * taken.size if known >= 0 else None
        # Where a factory gives full batches only, its data may hold more.
        full = taken.batched and taken.every is None
        exact = (counted or not counting) and not full
        count = Count.EXACT if exact else Count.AT_LEAST
        found: dict[str, Any] = {"first_pass": pass_facts(first)}
        certain = bool(taken.examples) or not counting or first.done
        if first.done and not taken.once:
            second = self._pass(min(patience, _READING_SECONDS), known)
            found["second_pass"] = pass_facts(second)
            one, other = _read(first), _read(second)
            self._shrinks = second.done and other < one
            if counting and not (one == other if second.done else other <= one):
                certain, count = False, Count.ABOUT
        if taken.examples:
            examples, count = taken.examples, Count.EXACT
        return {**found, "examples": examples, "count": count}, certain

    def _pass(self, patience: float, known: int) -> Progress[Stretch]:
        taken = self._taken
        read = taken.dataset if taken.every is None else taken.every
        return read_pass(read, patience, known, batched=taken.batched)


def _read(progress: Progress[Stretch]) -> int:
    return progress.values[-1].examples if progress.values else 0


def _ordered(spec: Any) -> Any:
    """Return a spec with its dictionaries in the order of their keys, which Python may vary."""
    if isinstance(spec, dict):
        return {key: _ordered(spec[key]) for key in sorted(spec)}
    return tuple(map(_ordered, spec)) if type(spec) is tuple else spec


def _stages_of(dataset: Any, size: int) -> tuple[bool, str, bool, int]:
    try:
        cached, frozen_stage = holds_cache(dataset), frozen(dataset)
        return cached, frozen_stage, runs_python(dataset), prefetched(dataset, size)
    except AttributeError:  # Private: where TensorFlow has changed, nothing is promised.
        return False, "", False, 0


def _first(dataset: Any) -> Any:
    try:
        return next(iter(dataset), None)
    except Exception as exc:
        raise FactoryFailed(
            f"The dataset failed on its first example: {SAID}.",
            "Fix dataset_fn so that you can iterate over its dataset.",
        ) from exc


def _bytes(element: Any) -> int:
    """Return the bytes of what tensors hold; strings are objects in numpy."""
    arrays = [np.asarray(each) for each in tensors(element)]
    return sum(sum(map(len, a.flat)) if a.dtype == object else int(a.nbytes) for a in arrays)


def file_shards(dataset: Any, patience: float) -> Progress[int]:
    """Return the numbers found in the time, up to the largest; none for a dataset without files."""
    shard = private.shard_by_files()
    if shard is None:
        return Progress((), done=True, error=None)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    return within(patience, _working_shards(shard, dataset.with_options(options)))


def _working_shards(shard: Any, dataset: Any) -> Iterator[int]:
    """Yield each number of workers for which the last one still gets an example."""
    for workers in range(2, MOST_SHARDS + 1):
        try:
            example = next(iter(shard(dataset, workers, workers - 1)), None)
        except tf.errors.NotFoundError:
            return  # It reads no files.
        except tf.errors.OpError:
            example = None  # It reads too few.
        if workers == 2:
            yield 1
        if example is None:
            return
        yield workers


_DRAWS = 3
"""Further looks at gradients whose scale is not clear at once, as random layers make it."""


class InspectedModel:
    def __init__(self, model: Any) -> None:
        if not isinstance(model, keras.Model):
            raise FactoryFailed(
                f"model_fn returned {class_of(model)}, not a keras.Model.",
                "Return a compiled keras.Model.",
            )
        if not model.compiled or model.optimizer is None:
            raise FactoryFailed(
                "model_fn returned a model that is not compiled.",
                "Call model.compile(optimizer=..., loss=...) before returning it.",
            )
        own = type(model.distribute_strategy)
        if own is not type(tf.distribute.get_strategy()):
            raise FactoryFailed(
                f"model_fn returned a model that a {own.__name__} of its own distributes.",
                "Remove that: model_fn is called in the scope of each strategy that is tried.",
            )
        self.model = model
        self._dense: dict[tuple[int, int], int] = {}
        self._used: list[str] = []
        """Classes of the optimizers that made the step that was tried."""
        self._loss = ""
        self._squares: dict[int, Any] = {}
        """Sums of squares of gradients, by the optimizers that were given them."""
        eager = bool(model.run_eagerly or tf.config.functions_run_eagerly())
        self._tried: dict[str, Any] = {
            "eager": eager,
            "jit_compile": bool(model.jit_compile) and not eager,
            "uncompilable": "",
            "operations": 0,
            "built_in_batch": None,
            # A guess, until it is tried.
            "summed_loss": any(
                getattr(each, "reduction", None) == "sum" for each in tf.nest.flatten(model.loss)
            ),
        }

    @property
    def static_batch(self) -> int | None:
        """The size of the batches that the inputs declare; None where any will do."""
        sizes = {each[0] for each in self._input_shapes()} - {None}
        return sizes.pop() if len(sizes) == 1 else None

    def ranks(self) -> list[int]:
        """Return the rank of each input with its batch dimension; none where they are unknown."""
        return [len(each) for each in self._input_shapes()]

    def _input_shapes(self) -> list[Any]:
        try:
            return [each.shape for each in self.model.inputs or ()]
        except (AttributeError, ValueError):  # It learns its inputs from the first batch.
            return []

    def train_on(self, batch: Any, failed: Callable[[str], WorkloadError], patience: float) -> None:
        """Take one step, which shows whether model, loss, metrics and data fit together.

        It is taken eagerly: that needs no tracing, and errors name the line that raised them.
        """
        began = time.monotonic()
        self.model.run_eagerly = True
        used = patched(
            (keras.Optimizer, "apply", before(self._note_optimizer)),
            (keras.Model, "compute_loss", before(self._note_loss)),
        )
        try:
            with used:
                for each in {id(each): each for each in optimizers_of(self.model)}.values():
                    self._squares[id(each)] = tf.Variable(0.0, trainable=False)
                    each.apply = self._noting(each, each.apply)
                # The batch is a dataset of its own, so that no error of the user's comes here.
                self.model.fit(tf.data.Dataset.from_tensors(batch), verbose=0)
        except BaseException as exc:
            cause = f"The model cannot be trained on the dataset's examples: {SAID}."
            raise failed(cause) from exc
        if time.monotonic() - began <= patience:
            rows, found = _rows_of(batch) or 1, self._tried
            found["operations"] = self._traced(batch)
            found["uncompilable"] = self._why_not_compiled(batch) if found["eager"] else ""
            self._try_sizes(batch, rows, began + 2 * patience)

    def _why_not_compiled(self, batch: Any) -> str:
        """Return why a model that runs eagerly cannot be compiled; empty if it can."""
        tf.config.run_functions_eagerly(run_eagerly=False)
        try:
            tf.function(self.model.train_step, autograph=False).get_concrete_function(batch)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the step has raised nothing
            error = describe(exc)
            where = f" in {error['where']}" if error["where"] else ""
            return f"{error['kind']}{where}"
        return ""

    def _try_sizes(self, batch: Any, rows: int, until: float) -> None:
        """Find out what other batches would change: nothing can be trained, or at another scale."""
        if rows < 2:
            return
        half = tf.nest.map_structure(lambda each: each[: rows // 2], batch)
        twice = tf.nest.map_structure(lambda each: tf.concat([each, each], 0), half)
        kept = [(each, each.numpy()) for each in self.model.variables]
        factors = []
        for _ in range(1 + _DRAWS):
            one, two = (self._gradients(each, kept) for each in (half, twice))
            if one is None or two is None:
                self._tried["built_in_batch"] = rows if one is None else None
                return
            # With several optimizers a single loss of another scale is enough.
            factors.append(max((two[each] / one[each] for each in one if one[each]), default=1.0))
            clear = min(abs(factors[0] - 1), abs(factors[0] - 2)) < 0.1
            if clear or time.monotonic() > until:
                break
        # Duplicates double a sum and leave a mean as it is; random numbers lie between.
        self._tried["summed_loss"] = bool(np.mean(factors) > 1.25)

    def _gradients(self, batch: Any, weights: list[tuple[Any, Any]]) -> dict[int, float] | None:
        """Return the norms of the gradients of a step from these weights; None where it fails."""
        for variable, value in weights:
            variable.assign(value)
        for square in self._squares.values():
            square.assign(0.0)
        try:
            self.model.fit(tf.data.Dataset.from_tensors(batch), verbose=0)
        except Exception:  # noqa: BLE001 - whatever it is, the whole batch has raised nothing
            return None
        return {key: float(square.numpy()) ** 0.5 for key, square in self._squares.items()}

    def _traced(self, batch: Any) -> int:
        """Return how many operations the forward pass has, which is quickly traced."""
        features, *_ = keras.utils.unpack_x_y_sample_weight(batch)
        call = tf.function(lambda given: self.model(given, training=True))
        try:
            return len(call.get_concrete_function(features).graph.get_operations())
        except Exception:  # noqa: BLE001 - a model with a step of its own need not have one
            return 0

    def facts(self) -> dict[str, Any]:
        own = optimizers_of(self.model)
        inner = [each.inner_optimizer for each in own if hasattr(each, "inner_optimizer")]
        steps = (getattr(each, "gradient_accumulation_steps", None) for each in (*own, *inner))
        accumulated = max(filter(None, steps), default=1)
        stateful = (e for e in private.layers_of(self.model) if getattr(e, "stateful", False))
        return {
            "weights": sum(int(np.prod(each.shape)) for each in self.model.weights),
            "gradient_bytes": sum(map(_weight_bytes, self.model.trainable_weights)),
            # With accumulation only every so many steps exchange anything.
            "dense_gradient_bytes": 0 if accumulated > 1 else sum(self._dense.values()),
            "accumulated_steps": accumulated,
            "own_train_function": private.makes_own_function(self.model),
            "carried_state": next((f"layer {each.name}" for each in stateful), ""),
            "only_steps": type(self.model).call is keras.Model.call,
            "optimizer": ", ".join(dict.fromkeys(self._used)),
            "loss": self._loss,
            **self._tried,
        }

    def _note_optimizer(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # One that scales the loss may leave out a step.
        self._used.append(type(inner_optimizer(optimizer)).__name__)

    def _note_loss(self, *_: Any, **__: Any) -> None:
        parts = [each for each in tf.nest.flatten(self.model.loss) if each is not None]
        names = (
            e if isinstance(e, str) else getattr(e, "__name__", type(e).__name__) for e in parts
        )
        self._loss = ", ".join(names)

    def _noting(self, optimizer: Any, apply: Callable[..., Any]) -> Callable[..., Any]:
        """Note the gradients, and which are dense: of others replicas exchange the rows used."""

        def noting(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            self._note_optimizer(optimizer)
            for index, grad in enumerate(grads):
                if isinstance(grad, tf.Tensor):
                    self._dense[id(optimizer), index] = _weight_bytes(grad)
            squares = [_square(each) for each in grads if each is not None]
            self._squares[id(optimizer)].assign_add(tf.add_n([0.0, *squares]))
            return apply(grads, *args, **kwargs)

        return noting


def _square(gradient: Any) -> Any:
    if isinstance(gradient, tf.IndexedSlices):  # Rows may come more than once, and count together.
        rows, places = tf.unique(gradient.indices)
        gradient = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.reduce_sum(tf.square(tf.cast(gradient, tf.float32)))


def _weight_bytes(weight: Any) -> int:
    return int(np.prod(weight.shape)) * int(tf.as_dtype(weight.dtype).size)


def _rows_of(batch: Any) -> int | None:
    """Return how many rows a batch has; None where they are unknown."""
    parts = tf.nest.flatten(batch)
    if not all(isinstance(each, tf.Tensor) and each.shape.rank for each in parts):
        return None
    sizes = {int(each.shape[0]) for each in parts}
    return sizes.pop() if len(sizes) == 1 else None
