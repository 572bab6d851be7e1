"""Whoever follows the advice of a rule gets a program that runs on two devices."""

import ast
import builtins
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from autotune.doctor.rules import rules

pytestmark = pytest.mark.real

SURROUNDINGS = {
    "GLOBAL_BATCH": "GLOBAL_BATCH = 8",
    "BATCH": "BATCH = 4",
    "images": "images = tf.ones((24, 4))",
    "labels": "labels = tf.zeros(24, tf.int32)",
    "files": "files = ['train-0.tfrecord', 'train-1.tfrecord']",
    "dataset": "dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(8)",
    "make_dataset": "def make_dataset(context=None):\n    return dataset",
    "make_model": "def make_model():\n    return tf.keras.Sequential([tf.keras.layers.Dense(10)])",
    "model": "with strategy.scope():\n"
    "    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(10)])",
    "optimizer": "with strategy.scope():\n"
    "    optimizer = tf.keras.optimizers.Adam()\n"
    "    optimizer.build(model.trainable_variables)",
    "loss_of": "def loss_of(outputs, labels=None):\n    return tf.reduce_sum(outputs ** 2) / 8",
    "replica_loss": "def replica_loss(images, labels):\n    return tf.reduce_sum(images)",
    "replica_step": "def replica_step(batch=None):\n    return tf.constant(1.0)",
    "train_step": "def train_step(batch):\n    tf.reduce_sum(batch)",
    "train": "def train(strategy, model, dataset):\n    model.build((None, 4))",
}
"""What examples name and leave to the reader; each may need those before it."""
NEEDS = {
    "dataset": {"images", "labels"},
    "make_dataset": {"dataset"},
    "optimizer": {"model"},
}
ONE_OF_BATCH = {"next-in-replica", "one-seed-for-replicas"}
"""Their datasets hold images alone."""
LEGACY = "TF_USE_LEGACY_KERAS"
CLUSTER = '["10.0.0.1:2222", "10.0.0.2:2222"]'
"""Nobody else would come to it."""


def programs() -> dict[str, str]:
    examples = (
        (name, number, text)
        for name, rule in rules().items()
        for number, text in enumerate(rule.good)
    )
    return {f"{name}-{number}": whole(name, text) for name, number, text in examples}


def whole(rule: str, text: str) -> str:
    """Return a program of an example: with what it leaves to the reader, and calls of its steps."""
    with socket.create_server(("localhost", 0)) as free:
        text = text.replace(CLUSTER, f'["localhost:{free.getsockname()[1]}"]')
    text = text.replace("GPU:", "CPU:").replace("gpu:", "cpu:")
    tree = ast.parse(text)
    steps = [*uncalled(tree)]
    wanted = missing(tree) | ({"dataset"} if steps else set())
    while wanted != (more := wanted.union(*(NEEDS.get(each, ()) for each in wanted))):
        wanted = more
    lines = ["import tensorflow as tf"] if wanted else []
    lines += [code for name, code in SURROUNDINGS.items() if name in wanted]
    assert wanted <= {*SURROUNDINGS}, rule
    if rule in ONE_OF_BATCH:
        lines = [each.replace("((images, labels))", "(images)") for each in lines]
    begun = [each.end_lineno or 0 for each in tree.body if begins(each)]
    kept = text.splitlines()
    return "\n".join([*kept[: begun[-1]], *lines, *kept[begun[-1] :], *steps, ""])


def begins(node: ast.stmt) -> bool:
    """Return whether a statement imports something, or makes the strategy."""
    makes = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "strategy"
    return makes or isinstance(node, ast.Import | ast.ImportFrom)


def missing(tree: ast.Module) -> set[str]:
    nodes = [*ast.walk(tree)]
    names = [each for each in nodes if isinstance(each, ast.Name)]
    imports = (each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom))
    bound = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    bound |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    bound |= {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    bound |= {(it.asname or it.name).split(".")[0] for each in imports for it in each.names}
    loaded = {each.id for each in names if isinstance(each.ctx, ast.Load)}
    # Loops and functions name these again.
    return loaded - (bound - {"images", "labels"}) - {*dir(builtins)}


def uncalled(tree: ast.Module) -> Iterator[str]:
    """Yield calls of the functions that an example only defines."""
    loaded = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and each.name not in loaded:
            given = ", ".join(it.arg for it in each.args.args)
            if given == "context":
                yield f"next(iter({each.name}(tf.distribute.InputContext(2, 0, 2))))"
            else:
                batches = "strategy.experimental_distribute_dataset(dataset)"
                yield f"for {given} in {batches}:\n    {each.name}({given})"


PROGRAMS = programs()


@pytest.fixture(scope="module")
def errors() -> dict[str, str]:
    """The error of each fixed form, empty where it ran."""
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "programs" / "fixed.py"],
        input=json.dumps(PROGRAMS),
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("example", PROGRAMS)
def test_a_fixed_form_runs_on_two_devices(example: str, errors: dict[str, str]) -> None:
    """Its steps more than once, because the second may fail where the first does not."""
    if LEGACY in PROGRAMS[example] and find_spec("tf_keras") is None:
        pytest.skip("Keras 2 is not installed.")
    assert errors[example] == ""
