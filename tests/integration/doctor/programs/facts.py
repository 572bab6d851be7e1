"""Tries out, in the installed TensorFlow, what the rules take for granted; prints it as JSON.

The question comes as JSON on stdin: dotted names, methods of a strategy, device names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import keras
import tensorflow as tf

CPU = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
ROOTS = {"tf": tf, "keras": keras}


def exists(dotted: str) -> bool:
    root, *names = dotted.split(".")
    thing: Any = ROOTS[root]
    for name in names:
        thing = getattr(thing, name, None)
    return thing is not None


def is_device(name: str) -> bool:
    try:
        tf.DeviceSpec.from_string(name)
    except ValueError:
        return False
    return True


def loss_on_two(strategy: tf.distribute.Strategy, reduction: str) -> float:
    """Return what the replicas' losses add up to, where every example's is 1."""
    loss = keras.losses.MeanSquaredError(reduction=reduction)

    @tf.function
    def run() -> Any:
        return strategy.run(lambda: tf.reduce_mean(loss(tf.zeros((4, 1)), tf.ones((4, 1)))))

    return float(strategy.reduce("SUM", run(), axis=None))


def network() -> keras.Model:
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])


def step(
    strategy: tf.distribute.Strategy, model: keras.Model, optimizer: keras.optimizers.Optimizer
) -> None:
    def replica_step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(tf.ones((4, 2))))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    tf.function(lambda: strategy.run(replica_step))()


def fit(strategy: tf.distribute.Strategy, model: keras.Model) -> None:
    with strategy.scope():
        model.compile("sgd", "mse")
    model.fit(tf.ones((8, 2)), tf.ones((8, 1)), batch_size=4, verbose=0)


def fails(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:  # noqa: BLE001 - any error is an answer
        return True
    return False


def scopes(strategy: tf.distribute.Strategy) -> dict[str, bool]:
    """Say which ways to create things outside of the scope fail."""
    with strategy.scope():
        inside, optimizer = network(), keras.optimizers.Adam()
        optimizer.build(inside.trainable_variables)
    return {
        "nothing outside": fails(lambda: step(strategy, inside, optimizer)),
        "optimizer outside": fails(lambda: step(strategy, inside, keras.optimizers.Adam())),
        "model outside": fails(lambda: fit(strategy, network())),
    }


def answers(names: Iterable[str], check: Callable[[str], bool]) -> dict[str, bool]:
    return {name: check(name) for name in names}


def main() -> None:
    asked = json.load(sys.stdin)
    strategy = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    found = {
        "names": answers(asked["names"], exists),
        "methods": answers(asked["methods"], lambda name: hasattr(strategy, name)),
        "devices": answers(asked["devices"], is_device),
        "losses": {each: loss_on_two(strategy, each) for each in ("none", "sum_over_batch_size")},
        "scopes": scopes(strategy),
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
