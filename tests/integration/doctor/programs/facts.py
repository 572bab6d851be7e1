"""Tries out, in the installed TensorFlow and Keras, what the rules take for granted; prints JSON.

The question comes as JSON on stdin: dotted names, methods of a strategy, device names, expressions.
Each case runs in a forked process of its own, because it starts TensorFlow's runtime.
"""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

ROWS, LABELS = np.ones((16, 4), "float32"), np.ones((16, 1), "float32")
NAMES = {"tf": tf, "keras": keras, "np": np}


def forked(case: Callable[[], object]) -> int:
    """Start a process in which a case runs, and return its number."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            case()
            status = 0
        except Exception:  # noqa: BLE001 - any error is an answer
            traceback.print_exc()
        finally:
            os._exit(status)
    return process


def succeeds(process: int) -> bool:
    return os.waitpid(process, 0)[1] == 0


def told(case: Callable[[], object]) -> Any:
    """Return what a case returns in a process of its own."""
    read, write = os.pipe()
    process = forked(lambda: os.write(write, json.dumps(case()).encode()))
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    assert succeeds(process)
    return json.loads(text)


def exists(dotted: str) -> bool:
    root, *names = dotted.split(".")
    thing: Any = NAMES[root]
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


def in_one_process(asked: dict[str, list[str]]) -> dict[str, Any]:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(
        ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )
    return {
        "names": answers(asked["names"], exists),
        "methods": answers(asked["methods"], lambda name: hasattr(strategy, name)),
        "devices": answers(asked["devices"], is_device),
        "losses": {each: loss_on_two(strategy, each) for each in ("none", "sum_over_batch_size")},
        "scopes": scopes(strategy),
    }


def set_after(expression: str) -> None:
    eval(expression, dict(NAMES))  # noqa: S307 - the test's own expressions
    tf.config.threading.set_inter_op_parallelism_threads(3)


def compiled(strategy: tf.distribute.Strategy, steps: int | None = None) -> keras.Model:
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=steps), "mse")
    return model


def accumulate(steps: int | None) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    compiled(strategy, steps).fit(ROWS, LABELS, batch_size=8, verbose=0)


def free_ports() -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def on_worker(method: str, index: int, ports: list[int]) -> None:
    task = {"type": "worker", "index": index}
    workers = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": workers, "task": task})
    model = compiled(tf.distribute.MultiWorkerMirroredStrategy())
    arguments = (ROWS,) if method == "predict" else (ROWS, LABELS)
    try:
        getattr(model, method)(*arguments)
    finally:
        time.sleep(2)  # The other one would fail for want of this one.


def two_workers(method: str) -> list[int]:
    ports = free_ports()
    return [forked(lambda index=index: on_worker(method, index, ports)) for index in (0, 1)]


def both_succeed(processes: list[int]) -> bool:
    return [succeeds(each) for each in processes] == [True, True]


def main() -> None:
    asked = json.load(sys.stdin)
    begun = {each: forked(lambda each=each: set_after(each)) for each in asked["starts"]}
    training = {each: two_workers(each) for each in ("fit", "evaluate")}
    found = {
        **told(lambda: in_one_process(asked)),
        "settings": {each: succeeds(process) for each, process in begun.items()},
        "accumulation": {
            str(steps): succeeds(forked(lambda steps=steps: accumulate(steps)))
            for steps in (None, 2)
        },
        "workers": {each: both_succeed(processes) for each, processes in training.items()},
        "predict": both_succeed(two_workers("predict")),
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
