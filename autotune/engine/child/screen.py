"""Times several settings of a program in one process, with one trace of its training step.

The first program runs as it is until it would train. From there on its model trains by a step of
our own, whose batch may have any size and whose number of steps is a tensor, on the input of each
program in turn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from autotune.engine import events
from autotune.engine.child.member import Member, input_of
from autotune.engine.child.train import read_epoch
from autotune.engine.events import EventWriter

SECONDS = 0.25
"""For which a setting is timed; fresh processes differ by more than a longer look would tell."""
LONGEST_CALL = 0.2
"""Seconds. A longer call is cut: beside so many steps nothing counts what a call costs."""
CACHED = 2048
"""Examples that a cache holds here, so that it is full at once."""
FILL_SECONDS = 2.0
"""A cache that takes longer to fill is not looked at."""

Dataset = Any
Calls = Callable[[Any, Any], Any]
"""Takes so many steps on what an iterator gives, and returns what the last one has logged."""


def screen(member: Member) -> None:
    made = Made()
    settings = [
        Setting(member.program(each.pop("script")), made, **each)
        for each in member.request["settings"]
    ]
    first = settings[0].program
    for each in settings:
        if hasattr(first, "script"):  # Only one of them runs it.
            each.program.script = first.script  # type: ignore[attr-defined]
    _replace_training(partial(_time_all, settings, member.writer))
    first.main(member.arguments(verbose=0))
    member.finish()


class Made:
    """Datasets as the user's factory makes them, each kind once, because it may take long."""

    def __init__(self) -> None:
        self._all: list[tuple[Mapping[str, Any], Dataset]] = []

    def by(self, factory: Callable[..., Dataset], options: Mapping[str, Any]) -> Dataset:
        for given, dataset in self._all:
            if given == options:
                return dataset
        dataset = factory(**options)
        self._all.append((options, dataset))
        return dataset


class Setting:
    """One program of the walk. Its input is that of the program, of batches of any size."""

    def __init__(self, program: ModuleType, made: Made, *, steps: int, cached: bool) -> None:
        self.program = program
        self.steps = steps
        self.cached = cached
        self._made = made
        name = input_of(program)
        self._dataset_fn = getattr(program, name)
        self._make_dataset = program.make_dataset
        setattr(program, name, self._examples)
        program.make_dataset = self.batches  # type: ignore[attr-defined] # the program's own name

    def batches(self) -> Dataset:
        return self._make_dataset().map(_of_any_size)

    def _examples(self, **options: Any) -> Dataset:
        if not self.cached:
            return self._made.by(self._dataset_fn, options)
        few = -(-CACHED // options.get("batch_size", 1))
        if "cache" in options:
            cache = options["cache"]
            return self._dataset_fn(
                **{**options, "cache": lambda dataset: cache(dataset.take(few))}
            )
        return self._made.by(self._dataset_fn, options).take(few)


def _time_all(
    settings: Sequence[Setting],
    report: EventWriter,
    strategy: tf.distribute.Strategy,
    model: keras.Model,
) -> None:
    """Report a window for each setting; one without steps where it could not be timed."""
    report.write(events.TRAIN_BEGIN)
    calls = _make_calls(strategy, model)
    for index, setting in enumerate(settings):
        batches = setting.batches()
        full = not setting.cached or read_epoch(batches, CACHED, FILL_SECONDS) == CACHED
        iterator = iter(strategy.experimental_distribute_dataset(batches))
        if index == 0:
            report.write(events.FIRST_STEP, steps=1, seconds=_seconds(calls, iterator, 1))
        steps, seconds, work = _timed(calls, iterator, setting.steps) if full else (0, 0.0, 0.0)
        report.write(events.WINDOW, steps=steps, seconds=seconds, work=work)


def _replace_training(time_all: Callable[..., None]) -> None:
    """Have the programs walk where they would train, by `fit` or by a loop of its own."""

    def fit(model: keras.Model, batches: Dataset, **_: Any) -> None:
        strategy = model.distribute_strategy
        _build(strategy, model, strategy.experimental_distribute_dataset(batches))
        time_all(strategy, model)

    keras.Model.fit = fit
    if loop := sys.modules.get("keras_multiworker"):
        loop.train = lambda strategy, model, *_: time_all(strategy, model)  # type: ignore[attr-defined] # its own name


def _build(strategy: tf.distribute.Strategy, model: keras.Model, batches: Any) -> None:
    """Create every variable, because a step that does so is traced twice."""
    if type(model).call is keras.Model.call:
        return  # Only its train_step knows what to do with a batch.

    @tf.function(autograph=False)  # type: ignore[untyped-decorator] # TensorFlow has no types
    def create(batch: Any) -> None:
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
        y_pred = model(x, training=False)
        if model.loss is not None:
            model.compute_loss(x, y, y_pred, sample_weight)
        model.compute_metrics(x, y, y_pred, sample_weight)

    strategy.run(create, args=(next(iter(batches)),))
    if model.optimizer is not None:
        with strategy.scope():
            model.optimizer.build(model.trainable_variables)


def _make_calls(strategy: tf.distribute.Strategy, model: keras.Model) -> Calls:
    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator] # no types
    def step(batch: Any) -> Any:
        return strategy.run(model.train_step, args=(batch,))

    def local_mean(value: Any) -> tf.Tensor:
        return tf.reduce_mean(strategy.experimental_local_results(value), axis=0)

    @tf.function  # type: ignore[untyped-decorator] # TensorFlow has no types
    def calls(iterator: Any, steps: tf.Tensor) -> Any:
        for _ in tf.range(steps - 1):
            step(next(iterator))
        return tf.nest.map_structure(local_mean, step(next(iterator)))

    found: Calls = calls
    return found


def _of_any_size(*element: Any) -> Any:
    """Return a batch whose size is not known before it is there."""

    def unsized(tensor: tf.Tensor) -> tf.Tensor:
        shape = [None, *tensor.shape[1:]]
        return tf.raw_ops.PlaceholderWithDefault(input=tensor, shape=shape)

    batch = tf.nest.map_structure(unsized, element, expand_composites=True)
    return batch if len(element) > 1 else batch[0]


def _timed(calls: Calls, iterator: Any, steps: int) -> tuple[int, float, float]:
    """Return how many steps were timed, and their seconds by the clock and of the cores."""
    _seconds(calls, iterator, 1)  # what is prepared once for a new size
    once = _seconds(calls, iterator, 1)
    each = max(min(steps, int(LONGEST_CALL / once)), 1)
    if each > 1:
        _seconds(calls, iterator, each)
    taken, seconds, worked = 0, 0.0, time.process_time()
    while seconds < SECONDS:
        seconds += _seconds(calls, iterator, each)
        taken += each
    return taken, seconds, time.process_time() - worked


def _seconds(calls: Calls, iterator: Any, steps: int) -> float:
    """Return what a call takes, until the last number is there."""
    began = time.monotonic()
    logs = calls(iterator, tf.constant(steps))
    tf.nest.map_structure(lambda each: each.numpy(), logs)
    return time.monotonic() - began
