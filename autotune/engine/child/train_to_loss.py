"""Trains to a loss on examples that the training never sees.

They are what the user validates with, or else some of those to train on: which these are is told by
their content, so that a shuffle does not matter and no seed and no batch trains on them. The
program's text stays as it is.
"""

from __future__ import annotations

import math
import time
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child.member import Member
from autotune.engine.child.validation import Validation
from autotune.engine.events import EventWriter
from autotune.learning import Curve, Look, Unraced, examples_to

ONE_IN = 8
"""Of so many examples one is held out, ..."""
MOST = 2048
"""... and so many at most are looked at."""
FEWEST = 32
"""With fewer, their loss tells nothing."""
BATCH = 256
"""Of a look."""
DIVERGED = 1e30
"""Stands for a loss that is no number."""
_ODD = (0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64)
"""Multipliers that spread the bits of a number; any odd ones of 64 bits would do."""


def train_to_loss(member: Member) -> None:
    """Train, look at the held-out examples now and then, and report."""
    request, program = member.request, member.program()
    curve = LossCurve(member.writer, program, request)
    steps = request["steps"]
    epochs = max(request["most"] // (steps * request["batch"]), 1)
    arguments = member.arguments(epochs=epochs, verbose=0, **{"steps-per-epoch": steps})
    program.main(arguments, callbacks=[curve])
    member.finish(curve.answer())


class LossCurve(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Holds examples out, and looks at their loss after each epoch, which is a part of a real one.

    Args:
        writer: Is told that training has begun and goes on.
        program: Makes the batches; those that are held out are taken from it.
        order: How long to train, and to which loss.
    """

    def __init__(self, writer: EventWriter, program: ModuleType, order: dict[str, Any]) -> None:
        super().__init__()
        self._writer = writer
        self._order = order
        self._whole = program.make_dataset
        self._validation = Validation(program) if order["validates"] else None
        self._looks: list[Look] = []
        self._held_out: Any = None
        self._count = 0
        self._began: float | None = None
        self._left: float = math.inf if order["seconds"] is None else order["seconds"]
        program.make_dataset = self._training  # type: ignore[attr-defined] # its own name

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002 - given
        """Take the examples that are held out, unless that leaves too few."""
        self._writer.write(events.TRAIN_BEGIN)
        if self._validation is None:
            order = self._order
            batches = math.ceil(min(order["examples"], MOST * ONE_IN) / order["batch"])
            held = self._whole().take(batches).map(_held).rebatch(BATCH)
            self._held_out = held.take(MOST // BATCH)
        self._held_out = self._held_out.cache()
        self._count = sum(int(tf.shape(tf.nest.flatten(each)[0])[0]) for each in self._held_out)
        self.model.stop_training = self._count < FEWEST

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        """Begin to count: what is compiled once is no part of what it takes."""
        if self._began is None:
            self._began = time.monotonic()
            self._writer.write(events.FIRST_STEP, steps=1, seconds=0.0)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        """Look, and end the training where the loss was reached or never will be."""
        order, began = self._order, time.monotonic()
        if self._count < FEWEST:
            return
        loss = float(self.model.evaluate(self._held_out, verbose=0, return_dict=True)["loss"])
        diverged = not math.isfinite(loss)
        examples = (epoch + 1) * order["steps"] * order["batch"]
        self._looks.append(Look(examples, DIVERGED if diverged else loss))
        # It goes on: without a word it would be taken for one that hangs.
        self._writer.write(events.WINDOW, steps=order["steps"], seconds=1.0, work=0.0)
        if self._began is not None and epoch:
            self._began += time.monotonic() - began
        late = self._began is not None and time.monotonic() - self._began > self._left
        target = order["target"]
        reached = target is not None and examples_to(self._looks[-4:], target) is not None
        self.model.stop_training |= late or reached or diverged

    def answer(self) -> dict[str, Any]:
        """Return the curve, as JSON."""
        if self._count < FEWEST:
            return Curve(refused=Unraced.FEW).model_dump(mode="json")
        return Curve(looks=tuple(self._looks), held_out=self._count).model_dump(mode="json")

    def _training(self, *arguments: Any, **options: Any) -> Any:
        dataset = self._whole(*arguments, **options)
        if self._validation is not None:
            self._held_out = self._validation.batches(dataset, size=BATCH, most=MOST)
            return dataset
        dataset = dataset.map(_not_held)
        dataset = dataset.rebatch(self._order["batch"], drop_remainder=True)
        return dataset.prefetch(tf.data.AUTOTUNE)


def _held(*batch: Any) -> Any:
    """Return the examples of a batch that are held out."""
    return _only(batch, tf.equal(_drawn(batch), 0))


def _not_held(*batch: Any) -> Any:
    """Return the others."""
    return _only(batch, tf.not_equal(_drawn(batch), 0))


def _only(batch: tuple[Any, ...], chosen: Any) -> Any:
    element = batch[0] if len(batch) == 1 else batch
    return tf.nest.map_structure(lambda each: tf.boolean_mask(each, chosen), element)


def _drawn(batch: tuple[Any, ...]) -> Any:
    """Return a number below `ONE_IN` for each example, which follows from its content."""
    leaves = tf.nest.flatten(batch)
    found = tf.zeros(tf.shape(leaves[0])[:1], tf.int64)
    for leaf in leaves:
        numbers = _as_integers(leaf)
        weights = (2 * tf.range(tf.shape(numbers, tf.int64)[1]) + 1) * _ODD[0]
        found = (found + tf.reduce_sum(numbers * weights, axis=1)) * _ODD[1]
        found = tf.bitwise.bitwise_xor(found, tf.bitwise.right_shift(found, 31))
    return tf.math.floormod(found * _ODD[0], ONE_IN * 1024) // 1024


def _as_integers(leaf: Any) -> Any:
    """Return a row of whole numbers for each example."""
    rows = tf.reshape(leaf, [tf.shape(leaf)[0], -1])
    if leaf.dtype == tf.string:
        return tf.strings.to_hash_bucket_fast(rows, 2**62)
    if leaf.dtype == tf.float64:
        return tf.bitcast(rows, tf.int64)
    if leaf.dtype.is_floating:
        return tf.cast(tf.bitcast(tf.cast(rows, tf.float32), tf.int32), tf.int64)
    return tf.cast(rows, tf.int64)
