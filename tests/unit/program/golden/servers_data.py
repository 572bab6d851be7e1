"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

- ParameterServerStrategy, 2 workers with 1 replica each
- variables on 1 parameter server
- 4 examples per step of a worker, asynchronous
- 3 steps per execution
- every worker reads all examples and keeps its shard

How to run it:

    python launch.py --epochs 5

starts the chief, the workers and the servers on this machine. For several machines, start

    python train.py --epochs 5

for each process, with the addresses of all of them in the environment variable TF_CONFIG. Workers
and servers wait for orders until they are ended, so end them when the chief is done.
"""

import argparse
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
STEPS_PER_EXECUTION = 3
EXAMPLES = 64
# Calls of the training step that wait in each worker while it runs one.
AHEAD = 2


def make_strategy() -> tf.distribute.Strategy:
    """Return the strategy.

    The variables are on the parameter servers, each variable on one of them, assigned round robin.
    Every worker reads them, computes a step on its own examples and writes the updates without
    waiting for the others, so gradients may be stale. Weights are updated by addition and lose no
    update; but what Keras reads and writes back (optimizer.iterations, momenta, moving averages,
    metrics) loses what another worker wrote in between. The chief, which runs this, only
    coordinates.
    """
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return tf.distribute.ParameterServerStrategy(cluster)


def make_dataset(worker: int, workers: int) -> tf.data.Dataset:
    """Return an infinite dataset of per-replica batches from this worker's shard."""
    dataset = dataset_fn()
    # Every worker runs this whole pipeline and keeps its shard of the examples.
    dataset = dataset.shard(workers, worker)
    # Without the remainder, because a batch of another size would be retraced.
    dataset = dataset.repeat().batch(PER_REPLICA_BATCH, drop_remainder=True)
    return dataset.prefetch(tf.data.AUTOTUNE)


def serve(cluster: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Train or hold variables as the chief orders, until this process is killed."""
    if not cluster.task_type:
        raise SystemExit("TF_CONFIG is not set; launch.py sets it and starts all processes.")
    server = tf.distribute.Server(
        cluster.cluster_spec(),
        job_name=cluster.task_type,
        task_index=cluster.task_id,
        protocol="grpc",
    )
    server.join()


def of_worker(worker: int, workers: int) -> tf.data.Dataset:
    """Return the batches of one worker."""
    return make_dataset(worker, workers)


def of_this_worker(workers: int) -> tf.data.Dataset:
    """Return the batches of the worker that asks."""
    # Known only inside of it, so the pipelines of all workers are written into the graph.
    me = tf.distribute.coordinator.experimental_get_current_worker_index()
    each = [partial(of_worker, worker, workers) for worker in range(workers)]
    return tf.switch_case(tf.cast(me, tf.int32), each)


def build(strategy: tf.distribute.Strategy, model: keras.Model, batches: tf.data.Dataset) -> None:
    """Create every variable before the first step, because workers cannot."""
    if type(model).call is keras.Model.call:
        return  # Only its train_step knows what to do with a batch.
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(next(iter(batches)))
    with strategy.scope():
        y_pred = model(x, training=False)
        if model.loss is not None:
            model.compute_loss(x, y, y_pred, sample_weight)
        model.compute_metrics(x, y, y_pred, sample_weight)
        if model.optimizer is not None:
            model.optimizer.build(model.trainable_variables)


def make_train_steps(strategy: tf.distribute.Strategy, model: keras.Model) -> Callable[..., Any]:
    """Return a function that runs so many steps of one worker in one call."""

    # Without AutoGraph, as in Keras: a train_step of your own runs as it is written.
    @tf.autograph.experimental.do_not_convert
    def step(batch: Any) -> dict[str, Any]:
        return strategy.run(model.train_step, args=(batch,))

    @tf.function
    def train_steps(iterator: Any, steps: tf.Tensor) -> tuple[dict[str, Any], tf.Tensor]:
        # The loop is part of the graph, because an order from the chief can cost more than a step.
        for _ in tf.range(steps - 1):
            step(next(iterator))
        return step(next(iterator)), counted_updates(model)

    return train_steps


def counted_updates(model: keras.Model) -> tf.Tensor:
    """Return how many updates the optimizer has counted; zero if the model brings its own."""
    if model.optimizer is None:
        return tf.constant(0, tf.int64)
    return tf.cast(model.optimizer.iterations, tf.int64)


def share_lost(counted: Any, made: int) -> float:
    """Return the share of the updates that the optimizer's counter has lost.

    Keras reads it and writes it back, as it does with momenta, moving averages and metrics; so
    the share tells how often workers got into each other's way.
    """
    return max(1 - int(counted) / made, 0.0) if counted > 0 else 0.0


def under_way(
    coordinator: tf.distribute.coordinator.ClusterCoordinator,
    train_steps: Callable[..., Any],
    iterator: Any,
    workers: int,
    sizes: Sequence[int],
) -> Iterator[list[Any]]:
    """Yield what each call gave, by worker, while the workers are busy with the next ones."""
    waiting: deque[list[Any]] = deque()
    for number in range(len(sizes) + AHEAD):
        if number < len(sizes):
            order = (iterator, tf.constant(sizes[number]))
            waiting.append([coordinator.schedule(train_steps, args=order) for _ in range(workers)])
        if number >= AHEAD:
            yield [each.fetch() for each in waiting.popleft()]


def train(
    coordinator: tf.distribute.coordinator.ClusterCoordinator,
    model: keras.Model,
    workers: int,
    watchers: keras.callbacks.CallbackList,
) -> None:
    """Train as `Model.fit` would, but let no worker wait for another.

    One step here is a step of as many workers as there are, whichever of them take it.
    """
    iterator = iter(coordinator.create_per_worker_dataset(partial(of_this_worker, workers)))
    train_steps = make_train_steps(coordinator.strategy, model)
    steps = watchers.params["steps"]
    # Of each call; the last one has only what is left of the epoch.
    sizes = [
        min(STEPS_PER_EXECUTION, steps - each) for each in range(0, steps, STEPS_PER_EXECUTION)
    ]
    model.stop_training = False
    logs: dict[str, Any] = {}
    made = 0
    watchers.on_train_begin()
    # As BackupAndRestore sets it, to go on from there.
    for epoch in range(model._initial_epoch or 0, watchers.params["epochs"]):
        reset_metrics(model)
        watchers.on_epoch_begin(epoch)
        for number, results in enumerate(
            under_way(coordinator, train_steps, iterator, workers, sizes)
        ):
            first = number * STEPS_PER_EXECUTION
            watchers.on_train_batch_begin(first)
            made += workers * sizes[number]
            counted = max(each for _, each in results)
            logs = {**results[-1][0], "lost_updates": share_lost(counted, made)}
            watchers.on_train_batch_end(first + sizes[number] - 1, logs)
            if model.stop_training:
                break
        coordinator.join()
        logs = logs_of_all(model, logs, made)
        watchers.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    if model.optimizer is not None:
        model.optimizer.finalize_variable_values(model.trainable_variables)
    watchers.on_train_end(logs)


@tf.function(autograph=False)
def reset_metrics(model: keras.Model) -> None:
    """Begin to count anew."""
    model.reset_metrics()


def logs_of_all(model: keras.Model, logs: dict[str, Any], made: int) -> dict[str, Any]:
    """Return the metrics over all workers; of a train_step of your own its last values."""
    metrics = model.get_metrics_result()
    if metrics.keys() == logs.keys() - {"lost_updates"}:
        logs = metrics
    return {**logs, "lost_updates": share_lost(counted_updates(model), made)}


def warn_of_other_size(replicas: int) -> None:
    """Say that fewer or more replicas train than the program was tuned for."""
    why = "" if "TF_CONFIG" in os.environ else ", because TF_CONFIG is not set"
    print(
        f"Replicas in this training: {replicas}{why}. Tuned for: {REPLICAS}. "
        f"Examples per step: {PER_REPLICA_BATCH * replicas}, not {PER_REPLICA_BATCH * REPLICAS}.",
        file=sys.stderr,
    )


def steps_of_an_epoch(global_batch: int) -> int:
    """Return how many batches the examples make, the last of them filled up from the next epoch."""
    return math.ceil(EXAMPLES / global_batch)


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
    """Train the model as the chief, or serve the chief in any other process.

    Args:
        argv: Arguments of the command line; None takes those of the process.
        callbacks: Keras callbacks to be called during the training.
    """
    args = parse_arguments(argv)
    # Otherwise nobody would notice that a process has died.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if cluster.task_type != "chief":
        serve(cluster)
        return
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()
    with strategy.scope():
        model = model_fn()
    # Both are set outright, because what Keras does by itself depends on strategy and device.
    model.jit_compile = False
    model.steps_per_execution = 1
    workers = cluster.cluster_spec().num_tasks("worker")
    if workers != REPLICAS:
        warn_of_other_size(workers)
    steps = args.steps_per_epoch or steps_of_an_epoch(PER_REPLICA_BATCH * workers)
    watchers = keras.callbacks.CallbackList(
        list(callbacks),
        add_history=True,
        add_progbar=args.verbose > 0,
        model=model,
        epochs=args.epochs,
        steps=steps,
        verbose=args.verbose,
    )
    build(strategy, model, of_worker(0, workers))
    train(tf.distribute.coordinator.ClusterCoordinator(strategy), model, workers, watchers)
    if args.save is not None:
        model.save(args.save)


if __name__ == "__main__":
    main()
