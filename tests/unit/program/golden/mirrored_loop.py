"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

- MirroredStrategy, 2 replicas
- 4 examples per replica, so 8 per step
- 5 steps per execution

How to run it:

    python train.py --epochs 5
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf


def folder_of(path: str, *modules: str) -> str:
    """Return a folder with modules of yours, by its path from the folder where autotune ran.

    That is taken to be the folder of this file, the one above it, the working folder, or any above.
    """
    me = Path(__file__).resolve()
    for start in (*me.parents[:2], Path.cwd(), *me.parents[2:]):
        files = [start / path / f"{name}.py" for name in modules]
        if all(each != me and (each.is_file() or each.with_suffix("").is_dir()) for each in files):
            return str(start / path)
    raise SystemExit(
        f"Found no {' and '.join(modules)} in {path!r}, from {me.parent}, the folders above it, or "
        "the working folder. Run this program in the folder where autotune ran, or move it there."
    )


sys.path.insert(0, folder_of("programs", "toy"))

from toy import dataset_fn, model_fn

PER_REPLICA_BATCH = 4
REPLICAS = 2
GLOBAL_BATCH = PER_REPLICA_BATCH * REPLICAS
STEPS_PER_EXECUTION = 5
EXAMPLES = 64


def make_strategy() -> tf.distribute.Strategy:
    """Return the strategy.

    Each logical CPU holds a copy of the model and processes its share of every batch. The gradients
    are all-reduced after each step, so all copies stay identical. Logical CPUs share the physical
    cores, so this pays only if a single replica cannot keep all cores busy.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    logical = [tf.config.LogicalDeviceConfiguration()] * REPLICAS
    tf.config.set_logical_device_configuration(cpu, logical)
    devices = [f"CPU:{index}" for index in range(REPLICAS)]
    return tf.distribute.MirroredStrategy(devices)


def make_dataset() -> tf.data.Dataset:
    """Return an infinite dataset of global batches."""
    dataset = dataset_fn()
    # Without the remainder, so that all replicas have equal batches.
    dataset = dataset.repeat().batch(GLOBAL_BATCH, drop_remainder=True)
    return dataset.prefetch(tf.data.AUTOTUNE)


def spread_random_streams(strategy: tf.distribute.Strategy, model: keras.Model) -> None:
    """Give each replica its own random numbers.

    Keras starts the generators of its dropout and augmentation layers equally on all replicas,
    so that each would drop the same units of its different examples.
    """

    def shift() -> None:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        for variable in model.non_trainable_variables:
            if variable.name == "seed_generator_state":
                distance = tf.stack([replica * 1_000_003, 0])
                variable.value.assign_add(tf.cast(distance, variable.dtype))

    @tf.function
    def shift_all() -> None:
        strategy.run(shift)

    shift_all()


def build(strategy: tf.distribute.Strategy, model: keras.Model, batches: Any) -> None:
    """Create every variable before the first step.

    Variables that a tf.function creates put its first call under a condition, where TensorFlow
    cannot exchange gradients between several devices of one process.
    """
    if type(model).call is keras.Model.call:
        build_by_step(strategy, model, batches)
        return

    @tf.function(autograph=False)
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


def build_by_step(strategy: tf.distribute.Strategy, model: keras.Model, batches: Any) -> None:
    """Create every variable by a step that changes no weight.

    Only the train_step of such a model knows what to do with a batch.
    """
    used: list[tuple[keras.Optimizer, Any]] = []

    def noted(optimizer: keras.Optimizer) -> Callable[..., Any]:
        return lambda _, variables: used.append((optimizer, list(variables)))

    optimizers = [each for each in vars(model).values() if isinstance(each, keras.Optimizer)]
    for each in optimizers:
        each.apply = noted(each)
    strategy.run(model.train_step, args=(next(iter(batches)),))
    for each in optimizers:
        del each.apply
    with strategy.scope():
        for optimizer, variables in used:
            if not optimizer.built:
                optimizer.build(variables)


def make_train_steps(strategy: tf.distribute.Strategy, model: keras.Model) -> Callable[..., Any]:
    """Return a function that runs so many training steps in one call."""

    # Without AutoGraph, as in Keras: a train_step of your own runs as it is written.
    @tf.autograph.experimental.do_not_convert
    def step(batch: Any) -> dict[str, Any]:
        return strategy.run(model.train_step, args=(batch,))

    def local_mean(value: Any) -> tf.Tensor:
        return tf.reduce_mean(strategy.experimental_local_results(value), axis=0)

    @tf.function
    def train_steps(iterator: Any, steps: tf.Tensor) -> dict[str, tf.Tensor]:
        # The loop is part of the graph, because a call from Python can cost more than a step.
        for _ in tf.range(steps - 1):
            step(next(iterator))
        logs = step(next(iterator))
        return tf.nest.map_structure(local_mean, logs)

    return train_steps


def train(
    strategy: tf.distribute.Strategy,
    model: keras.Model,
    iterator: Any,
    watchers: keras.callbacks.CallbackList,
    initial_epoch: int = 0,
) -> None:
    """Train as `Model.fit` would."""
    train_steps = make_train_steps(strategy, model)
    model.stop_training = False
    logs: dict[str, Any] = {}
    watchers.on_train_begin()
    # As BackupAndRestore sets it, to go on from there.
    begun = model._initial_epoch or initial_epoch
    for epoch in range(begun, watchers.params["epochs"]):
        reset_metrics(model)
        watchers.on_epoch_begin(epoch)
        for first in range(0, watchers.params["steps"], STEPS_PER_EXECUTION):
            # The last call has only what is left of the epoch.
            steps = min(STEPS_PER_EXECUTION, watchers.params["steps"] - first)
            watchers.on_train_batch_begin(first)
            logs = train_steps(iterator, tf.constant(steps))
            # Past the list, which would turn the logs into numbers and wait for them.
            for each in watchers.callbacks:
                each.on_train_batch_end(first + steps - 1, logs)
            if model.stop_training:
                break
        logs = logs_of_all(strategy, model, logs)
        watchers.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    if model.optimizer is not None:
        model.optimizer.finalize_variable_values(model.trainable_variables)
    watchers.on_train_end(logs)


# The functions below are compiled, because outside the graph every variable and every exchange
# between replicas costs milliseconds.


@tf.function(autograph=False)
def reset_metrics(model: keras.Model) -> None:
    """Begin to count anew."""
    model.reset_metrics()


@tf.function(autograph=False)
def logs_of_all(
    strategy: tf.distribute.Strategy, model: keras.Model, logs: dict[str, Any]
) -> dict[str, Any]:
    """Return the metrics over all replicas."""
    metrics = model.get_metrics_result()
    if metrics.keys() == logs.keys():
        return metrics
    # A train_step of your own may return other values: their last ones, averaged.
    return {name: strategy.reduce("MEAN", value, axis=None) for name, value in logs.items()}


def steps_of_an_epoch() -> int:
    """Return how many batches the examples make, the last of them filled up from the next epoch."""
    return math.ceil(EXAMPLES / GLOBAL_BATCH)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=1, help="default: 1")
    parser.add_argument("--steps-per-epoch", type=int, help="default: all examples once")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--verbose", type=int, choices=(0, 1, 2), default=2, help="default: 2")
    parser.add_argument("--save", metavar="FILE.keras", help="where to save the trained model")
    args = parser.parse_args(argv)
    if args.save is not None and not args.save.endswith(".keras"):
        parser.error("--save needs a name that ends in .keras")
    return args


def main(
    argv: Sequence[str] | None = None, callbacks: Sequence[keras.callbacks.Callback] = ()
) -> None:
    """Train the model.

    Args:
        argv: Arguments of the command line; None takes those of the process.
        callbacks: Keras callbacks to be called during the training.
    """
    args = parse_arguments(argv)
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()
    with strategy.scope():
        model = model_fn()
    # Both are set outright, because what Keras does by itself depends on strategy and device.
    model.jit_compile = False
    model.steps_per_execution = 1
    spread_random_streams(strategy, model)
    batches = strategy.experimental_distribute_dataset(make_dataset())
    steps = args.steps_per_epoch or steps_of_an_epoch()
    verbose = args.verbose
    watchers = keras.callbacks.CallbackList(
        list(callbacks),
        add_history=True,
        add_progbar=verbose > 0,
        model=model,
        epochs=args.epochs,
        steps=steps,
        verbose=verbose,
    )
    build(strategy, model, batches)
    train(strategy, model, iter(batches), watchers)
    if args.save is not None:
        model.save(args.save)


if __name__ == "__main__":
    main()
