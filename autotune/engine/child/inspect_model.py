"""Inspects what a model factory gave, or what a script trains.

That includes what ties a model to its batches: state that it carries on, a size that is built in,
a loss that grows with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.engine.child import private
from autotune.engine.child.notes import before, patched
from autotune.engine.child.returned import class_of
from autotune.engine.events import SAID, describe
from autotune.errors import FactoryFailed, WorkloadError
from autotune.library.keras_training import inner_optimizer, optimizers_of

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
        """Return the rank of each input with its batch dimension; none where nobody knows."""
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
                self._listen()
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
        trainable, accumulated = self.model.trainable_weights, _accumulated_steps(self.model)
        return {
            "weights": sum(int(np.prod(each.shape)) for each in self.model.weights),
            "gradient_bytes": sum(_weight_bytes(each) for each in trainable),
            # With accumulation only every so many steps exchange anything.
            "dense_gradient_bytes": 0 if accumulated > 1 else sum(self._dense.values()),
            "accumulated_steps": accumulated,
            "own_train_function": private.makes_own_function(self.model),
            "carried_state": _stateful_layer(self.model),
            "only_steps": type(self.model).call is keras.Model.call,
            "optimizer": ", ".join(dict.fromkeys(self._used)),
            "loss": self._loss,
            **self._tried,
        }

    def _note_optimizer(self, optimizer: Any, *_: Any, **__: Any) -> None:
        # One that scales the loss may leave out a step.
        self._used.append(type(inner_optimizer(optimizer)).__name__)

    def _note_loss(self, *_: Any, **__: Any) -> None:
        self._loss = _loss_name(self.model.loss)

    def _listen(self) -> None:
        """Note the gradients, and which are dense: of others replicas exchange the rows used."""
        for each in {id(each): each for each in optimizers_of(self.model)}.values():
            self._squares[id(each)] = tf.Variable(0.0, trainable=False)
            each.apply = self._noting(each, each.apply)

    def _noting(self, optimizer: Any, apply: Callable[..., Any]) -> Callable[..., Any]:
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


def _loss_name(loss: Any) -> str:
    parts = [each for each in tf.nest.flatten(loss) if each is not None]
    names = (e if isinstance(e, str) else getattr(e, "__name__", type(e).__name__) for e in parts)
    return ", ".join(names)


def _rows_of(batch: Any) -> int | None:
    """Return how many rows a batch has; None where they are unknown."""
    parts = tf.nest.flatten(batch)
    if not all(isinstance(each, tf.Tensor) and each.shape.rank for each in parts):
        return None
    sizes = {int(each.shape[0]) for each in parts}
    return sizes.pop() if len(sizes) == 1 else None


def _stateful_layer(model: Any) -> str:
    """Return the layer that says that it carries state between batches; empty if none does."""
    stateful = (e for e in private.layers_of(model) if getattr(e, "stateful", False))
    return next((f"layer {each.name}" for each in stateful), "")


def _accumulated_steps(model: Any) -> int:
    own = optimizers_of(model)
    inner = [each.inner_optimizer for each in own if hasattr(each, "inner_optimizer")]
    steps = (getattr(each, "gradient_accumulation_steps", None) for each in (*own, *inner))
    return max((each for each in steps if each), default=1)
