"""Tries out what starts TensorFlow's runtime, and what fails under which strategy; prints JSON.

The question comes as JSON on stdin: expressions. Each case runs in a forked process of its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable

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
        finally:
            os._exit(status)
    return process


def succeeds(process: int) -> bool:
    return os.waitpid(process, 0)[1] == 0


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
    begun = {each: forked(lambda each=each: set_after(each)) for each in json.load(sys.stdin)}
    training = {each: two_workers(each) for each in ("fit", "evaluate")}
    found = {
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
