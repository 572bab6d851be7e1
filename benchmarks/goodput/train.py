"""Trains to a loss at some batches, in one process, and prints what that took as JSON.

    python -m benchmarks.goodput.train TRAINING BATCH:FACTOR:WARM_UP ...

FACTOR multiplies the learning rate, which rises to that within WARM_UP examples, or a share of
those that the first batch has needed, by what stands in the programs that autotune writes. A batch
that has not reached the loss after so many times the examples of the first is given up.
"""

from __future__ import annotations

import json
import math
import sys
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import keras
import tensorflow as tf

from autotune.library.keras_training import scaled
from autotune.stats.efficiency import WARM_UP_SHARE
from benchmarks.goodput.workloads import TRAININGS, dataset_fn, held_out, model_fn

LOOK = 1024
"""Examples between two looks at the loss, at least."""
WARM, TIMED = 1.0, 2.0
"""Seconds of steps without a look: until the input is no longer ahead, and those that are timed."""
TURNS = 6
"""So often each batch is timed; a machine's speed changes from one second to the next."""
MOST = 1 << 21
"""Examples after which the first batch is given up."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """How to train."""

    batch: int
    factor: float
    """On the learning rate."""
    warm_up: int
    """Examples until it is multiplied in full."""

    @classmethod
    def from_text(cls, text: str) -> Order:
        batch, factor, warm_up = text.split(":")
        return cls(batch=int(batch), factor=float(factor), warm_up=int(warm_up))


@dataclass(frozen=True, kw_only=True)
class Trained:
    """One training to a loss."""

    batch: int
    factor: float
    seed: int
    examples: float | None
    """Until the loss was reached; None if it was not."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The speed of a batch."""

    batch: int
    rates: tuple[float, ...]
    """Examples per second in each turn, of steps that follow each other: while somebody looks at
    the loss, the input gets ahead."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is printed."""

    trained: tuple[Trained, ...]
    timed: tuple[Timed, ...]

    @classmethod
    def from_json(cls, text: str) -> Found:
        found = json.loads(text)
        trained = (Trained(**each) for each in found["trained"])
        timed = (Timed(batch=each["batch"], rates=(*each["rates"],)) for each in found["timed"])
        return cls(trained=(*trained,), timed=(*timed,))


def train(name: str, order: Order, seed: int, most: float) -> Trained:
    """Train until the loss is reached, or until so many examples."""
    keras.utils.set_random_seed(seed)
    model, batch = model_fn(name), order.batch
    steps = max(LOOK // batch, 1)
    curve = Curve(TRAININGS[name].target, batch * steps)
    model.fit(
        batches_of(name, batch),
        epochs=max(math.ceil(most / (batch * steps)), 1),
        steps_per_epoch=steps,
        callbacks=at_rate(model, [Evaluated(held_out(name)), curve], order),
        verbose=0,
    )
    return Trained(batch=batch, factor=order.factor, seed=seed, examples=curve.reached)


def timed(name: str, orders: Sequence[Order]) -> tuple[Timed, ...]:
    """Return the speed of each batch, taken in turns."""
    models = [model_fn(name) for _ in orders]
    rates: dict[int, list[float]] = defaultdict(list)
    for _ in range(TURNS):
        for model, order in zip(models, orders, strict=True):
            clock = Clock(order.batch)
            model.fit(
                batches_of(name, order.batch),
                steps_per_epoch=MOST,
                callbacks=at_rate(model, [clock], order),
                verbose=0,
            )
            model.stop_training = False
            rates[order.batch].append(clock.rate)
    return tuple(Timed(batch=batch, rates=(*each,)) for batch, each in rates.items())


def batches_of(name: str, batch: int) -> tf.data.Dataset:
    """Return the batches of a training, without an end."""
    examples = dataset_fn(name).repeat()
    return examples.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def at_rate(model: keras.Model, callbacks: list[Any], order: Order) -> Any:
    """Return the callbacks with what scales the learning rate in a program."""
    warm_up = (order.warm_up, 1.0)
    return scaled(model, callbacks, order.factor, batch=order.batch, usual_batch=0, warm_up=warm_up)


class Evaluated(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Logs the loss on held-out examples at the end of an epoch."""

    def __init__(self, arrays: tuple[Any, Any]) -> None:
        super().__init__()
        self._arrays = arrays

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        x, y = self._arrays
        logs["held_out"] = float(self.model.loss(y, self.model(x, training=False)))


class Curve(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Notes when the loss was reached."""

    def __init__(self, target: float, examples: int) -> None:
        super().__init__()
        self._target = target
        self._examples = examples
        self._before = math.inf
        self.reached: float | None = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stop if the loss was reached, at two looks so that chance does not end it."""
        loss = logs["held_out"]
        if loss > self._target or not math.isfinite(loss):
            self.reached = None
        elif self.reached is not None:
            self.model.stop_training = True
        else:
            # The last look was above it, and this one is below.
            beyond = (self._target - loss) / (self._before - loss) if self._before < math.inf else 0
            self.reached = (epoch + 1 - beyond) * self._examples
        self.model.stop_training |= not math.isfinite(loss)
        self._before = loss


class Clock(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Times steps for some seconds, and ends the training."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self._batch = batch
        self._steps = 0
        self._began = self._from = self._last = 0.0

    @property
    def rate(self) -> float:
        """Examples per second."""
        return self._steps * self._batch / (self._last - self._from)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 - given
        self._last = time.perf_counter()
        self._began = self._began or self._last
        if self._last < self._began + WARM:
            self._from = self._last
        else:
            self._steps += 1
            self.model.stop_training = self._last > self._from + TIMED


def main() -> int:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("training", choices=TRAININGS)
    parser.add_argument("batches", nargs="+", metavar="BATCH:FACTOR:WARM_UP", type=Order.from_text)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--patience", type=float, default=24.0)
    asked = parser.parse_args()
    found: list[Trained] = []
    for seed in range(asked.seeds):
        for order in asked.batches:
            first = found[0].examples or MOST if found else MOST
            most = asked.patience * first if found else MOST
            warm_up = min(order.warm_up, int(WARM_UP_SHARE * first))
            found.append(train(asked.training, replace(order, warm_up=warm_up), seed, most))
    rates = timed(asked.training, asked.batches)
    print(json.dumps(asdict(Found(trained=(*found,), timed=rates))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
