"""Trains at the user's own batch for a while, and looks at the gradients on the way.

At two points of the training, the weights are held still while the gradients of small batches are
taken; then it goes on as if nothing had been. The program's text stays as it is.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child import private
from autotune.engine.child.process import Member
from autotune.learning.efficiency import RULES, GradientProbe, Learning, Unpredictable
from autotune.learning.gradients import GradientSums
from autotune.library.keras_training import inner_optimizer, schedule_of

WARM = 100
"""Steps before the first look; what gradients tell of the first ones changes within a few."""
LATER = 4
"""Times so many steps before the second look, which shows how fast things change."""
MOST_BATCHES = 256
"""Small batches in a look."""
MOST_ELEMENTS = 1 << 20
"""Of a gradient that are looked at: of larger ones every so many."""


def learn(member: Member) -> None:
    callback = GradientCallback(member)
    callback.program.main(member.arguments(verbose=0), callbacks=[callback])
    member.finish(callback.answer())


class GradientCallback(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Looks at the gradients twice, and ends the training, all within some seconds."""

    def __init__(self, member: Member) -> None:
        super().__init__()
        self.program = member.program()
        self._member = member
        self._batch: int = member.request["batch"]
        self._seconds: float = member.request["seconds"]
        self._steps = 0
        self._began = 0.0
        self._gradients: Gradients | None = None
        self._refused: Unpredictable | None = None
        self._probes: list[GradientProbe] = []
        self._inspections = 0
        self._rate: float | None = None

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002 - given
        self._began = time.monotonic()
        self._member.writer.write(events.TRAIN_BEGIN)
        self._refused = unpredictable(self.model)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        """Forget the learning rate: it may follow the epochs, which are as long at any batch."""
        self._rate = None

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        self._steps += 1
        self._watch_rate()
        if self._steps == 1:
            now = time.monotonic()
            self._member.writer.write(events.FIRST_STEP, steps=1, seconds=now - self._began)
            self._began = now  # What is compiled once is no part of what it takes.
        if self._refused:
            self.model.stop_training = True
        elif self._due():
            self._inspect()
            self.model.stop_training = bool(self._refused) or self._inspections == 2

    def answer(self) -> dict[str, Any]:
        if self._refused or not self._probes:
            found = Learning(batch=self._batch, refused=self._refused or Unpredictable.TOO_FEW)
        else:
            found = Learning(
                batch=self._batch,
                rule=RULES[type(inner_optimizer(self.model.optimizer)).__name__],
                probes=tuple(self._probes),
            )
        return found.model_dump(mode="json")

    def _watch_rate(self) -> None:
        """Refuse a learning rate that a callback changes from step to step."""
        if self._refused or schedule_of(self.model):
            return
        rate = float(self.model.optimizer.learning_rate.numpy())
        if self._rate is not None and rate != self._rate:
            self._refused = Unpredictable.SCHEDULED
        self._rate = rate

    def _due(self) -> bool:
        share = (time.monotonic() - self._began) / self._seconds
        if not self._probes:
            return self._steps >= WARM or share > 1 / 4
        return self._steps >= LATER * self._probes[0].step or share > 1 / 2

    def _inspect(self) -> None:
        if self._gradients is None:
            self._gradients = Gradients(self.model)
        sums, clipped, until = GradientSums(self._gradients.elements, self._batch), 0, math.inf
        began = time.monotonic()
        with self._gradients.state_kept():
            for batch in self.program.make_dataset():
                gradient, clips = self._gradients.of(batch)
                until = min(until, time.monotonic() + self._seconds / 4)
                sums.add(gradient)
                clipped += clips
                if len(sums) >= MOST_BATCHES or time.monotonic() > until:
                    break
        self._began += time.monotonic() - began
        self._inspections += 1
        self._note(sums.probe(self._steps), clipped / max(len(sums), 1))

    def _note(self, probe: GradientProbe | None, clipped: float) -> None:
        if clipped > 1 / 2:
            self._refused = Unpredictable.CLIPPED
        elif probe is None:
            self._refused = None if self._probes else Unpredictable.TOO_FEW
        else:
            self._probes.append(probe)
            self._member.leave(self.answer())


def unpredictable(model: Any) -> Unpredictable | None:
    """Return why nothing can be said of a model, as far as it shows before it is trained."""
    optimizer = inner_optimizer(model.optimizer)
    if type(model).train_step is not keras.Model.train_step:
        return Unpredictable.OWN_STEP
    if type(optimizer).__name__ not in RULES:
        return Unpredictable.OPTIMIZER
    if getattr(optimizer, "gradient_accumulation_steps", None):
        return Unpredictable.ACCUMULATED
    if schedule_of(model) is None and isinstance(optimizer.get_config()["learning_rate"], dict):
        return Unpredictable.SCHEDULED
    return None


class Gradients:
    """Takes gradients of a model that was trained already, and leaves it as it was."""

    def __init__(self, model: Any) -> None:
        self._model = model
        total = sum(int(np.prod(each.shape)) for each in model.trainable_variables)
        self._stride = max(-(-total // MOST_ELEMENTS), 1)
        self.elements = sum(
            -(-int(np.prod(each.shape)) // self._stride) for each in model.trainable_variables
        )
        self._taken = tf.function(self._take, reduce_retracing=True)

    def of(self, batch: Any) -> tuple[Any, bool]:
        """Return the gradient of a batch, flat, and whether the optimizer would clip it."""
        gradient, clips = self._taken(batch)
        return gradient.numpy(), bool(clips)

    @contextmanager
    def state_kept(self) -> Iterator[None]:
        """Leave all that is not learned as it was: moving averages, random states, metrics."""
        kept = [(each, each.numpy()) for each in self._model.non_trainable_variables]
        try:
            yield
        finally:
            for variable, value in kept:
                variable.assign(value)

    def _take(self, batch: Any) -> tuple[tf.Tensor, tf.Tensor]:
        model, variables = self._model, self._model.trainable_variables
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x, y, model(x, training=True), weight)
            scaled = model.optimizer.scale_loss(loss)
        found = tape.gradient(scaled, [each.value for each in variables])
        # Rows of an embedding may come more than once; they are added up before they are squared.
        whole = [
            tf.zeros_like(v.value) if g is None else tf.convert_to_tensor(g)
            for g, v in zip(found, variables, strict=True)
        ]
        # A loss of zero has gradients of zero, whatever its scale.
        scale = tf.cast(tf.math.divide_no_nan(loss, scaled), tf.float32)
        unscaled = [tf.cast(g, tf.float32) * scale for g in whole]
        parts = [tf.reshape(g, [-1])[:: self._stride] for g in unscaled]
        clipped = private.clipped(inner_optimizer(model.optimizer), unscaled)
        pairs = zip(clipped, unscaled, strict=True)
        clips = [tf.reduce_any(tf.abs(a - b) > 1e-6 * tf.abs(b)) for a, b in pairs]
        return tf.concat(parts, 0), tf.reduce_any(clips)
