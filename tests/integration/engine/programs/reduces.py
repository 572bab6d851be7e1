"""Prints how many operations of some kinds a training step has under a strategy."""

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf


def make_strategy() -> tf.distribute.Strategy:
    if "TF_CONFIG" in os.environ:
        return tf.distribute.MultiWorkerMirroredStrategy()
    [device] = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(device, two)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def make_model() -> keras.Model:
    layers = [
        keras.Input((4,), dtype="int32"),
        keras.layers.Embedding(100, 8),
        keras.layers.Flatten(),
        keras.layers.Dense(3),
    ]
    model = keras.Sequential(layers)
    model.compile(optimizer="sgd", loss="mse")
    return model


def rank() -> int:
    """Return which of the workers this is; the first speaks for all."""
    return int(json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index", 0))


def main(_: Sequence[str], callbacks: Sequence[keras.callbacks.Callback]) -> None:
    del callbacks
    strategy = make_strategy()
    with strategy.scope():
        model = make_model()
        model.optimizer.build(model.trainable_variables)
    batch = (tf.zeros((8, 4), tf.int32), tf.zeros((8, 3)))

    @tf.function(autograph=False)
    def step() -> Any:
        return strategy.run(lambda: model.train_step(batch))

    with strategy.scope():
        model.compute_loss(batch[0], batch[1], model(batch[0]))
    graph = step.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(node for each in graph.library.function for node in each.node_def)]
    print(json.dumps(Counter(each.op for each in nodes)))  # noqa: T201 - what the test reads
    step()
    # Workers that exchange nothing do not wait for each other, and the first that ends, ends all.
    while rank() > 0:
        time.sleep(1)
