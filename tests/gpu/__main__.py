"""Run every check and print their table.

    python -m tests.gpu

Exits with 0 where all that was checked holds, 1 where something does not, and 77 where TensorFlow
sees no GPU and so nothing was checked.
"""

from __future__ import annotations

import sys

from autotune.engine.local import LocalEngine
from autotune.machine import Machine
from tests.gpu.check import NOTHING_CHECKED, run, status, table
from tests.gpu.checks import CHECKS, Bench

MOST_SECONDS = 600.0


def main() -> int:
    with LocalEngine() as engine:
        machine = engine.machine()
        print(_head(machine))
        if not machine.gpus:
            print("TensorFlow sees no GPU here: nothing was checked.")
            return NOTHING_CHECKED
        found = run(CHECKS, Bench(engine), len(machine.gpus), MOST_SECONDS)
    print(table(found))
    return status(found)


def _head(machine: Machine) -> str:
    gpus = ", ".join(machine.gpus) or "no GPU"
    return (
        f"{gpus}; {machine.cpus} cores; Python {machine.python}, TensorFlow {machine.tensorflow}, "
        f"Keras {machine.keras}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
