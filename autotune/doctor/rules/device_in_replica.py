"""tf.device inside a replica function.

Why: The strategy places each replica on its own device. An explicit device inside runs the work of
all replicas one after the other while the other devices idle.

Instead: Leave placement to the strategy; pass the devices when creating it.
"""

import ast

from autotune.doctor import Hits, Module, Severity, mended
from autotune.doctor.rules._devices import read_device, written_device
from autotune.doctor.rules._examples import MIRRORED, TRAIN_STEP


def check(module: Module) -> Hits:
    functions = module.replica_functions | module.keras_steps
    for call in module.calls_of("tf.device"):
        if call.args and module.function_of(call) in functions:
            name = ast.unparse(call.args[0])
            kind, index = read_device(written_device(module, call.args[0]) or "") or ("", "*")
            # The first CPU is the host, which all may use.
            if kind and index != "*" and (kind, index) != ("CPU", "0") and "replica" not in name:
                yield call, f"Every replica computes on {name} here, whatever its own device."


BAD = f"""{MIRRORED}

def replica_step(images, labels):
    with tf.device("/GPU:0"):  # <- here
        return loss_of(model(images), labels)
{TRAIN_STEP}"""
SEVERITY = Severity.WARNING
GOOD = mended(BAD, '"/GPU:0"', '"CPU:0"')
