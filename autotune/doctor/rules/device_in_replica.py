"""Replicas that are all sent to one device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._devices import Device, read_device, written_device


def _check(module: Module) -> Iterator[Hit]:
    functions = module.replica_functions | module.keras_steps
    for call in module.tree.calls:
        name = _device(module, call)
        if name and module.tree.function_of(call) in functions:
            yield call, f"Every replica computes on {name} here, whatever its own device."


def _device(module: Module, call: ast.Call) -> str:
    """Return the one device that a call of `tf.device` names, if it is not the host."""
    if module.dotted(call.func) != "tf.device" or not call.args:
        return ""
    name = written_device(module, call.args[0])
    if name is None or "replica" in ast.unparse(call.args[0]):
        return ""
    device = read_device(name)
    return ast.unparse(call.args[0]) if device and _is_one_accelerator(device) else ""


def _is_one_accelerator(device: Device) -> bool:
    """Return whether it is one device of several; the first CPU is the host, which all may use."""
    if not device.kind or device.index is None:
        return False
    return device.kind != "CPU" or device.index > 0


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(batch):
    with tf.device("/GPU:0"):  # <- here
        return model(batch, training=True)


@tf.function
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))
"""

_GOOD = _BAD.replace(
    '"/GPU:0"):  # <- here', '"CPU:0"):  # The host, for what accelerators cannot do.'
)

RULE = Rule(
    name="device-in-replica",
    title="tf.device inside a replica function",
    severity=Severity.WARNING,
    why=(
        "The strategy places each replica on its own device. An explicit device inside runs the "
        "work of all replicas one after the other while the other devices idle."
    ),
    instead="Leave placement to the strategy; pass the devices when creating it.",
    words=(("device(",), (".run(", "experimental_run_v2(", "train_step"), ("strategy",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
