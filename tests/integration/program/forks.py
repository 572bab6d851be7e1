"""Runs programs as `python PROGRAM` would, each in a fork of a process that has imported Keras.

Reads an order from each line of stdin, and answers it with the program's exit code. Nothing is
computed here, so that no program sees another's devices, threads or seeds.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import keras  # noqa: F401 - so that no fork pays for it


def run(order: dict[str, Any]) -> int:
    """Run a program in a fork; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Answers alone are read there.
    os.environ.update(order["environment"])
    sys.argv = [order["program"], *order["arguments"]]
    sys.path[0] = str(Path(order["program"]).parent)
    status = 1
    try:
        runpy.run_path(order["program"], run_name="__main__")
        status = 0
    except SystemExit as exc:
        status = 1 if exc.code else 0
    except BaseException:  # noqa: BLE001 - whatever it is, it belongs into the report
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(run(json.loads(line)), flush=True)  # noqa: T201 - the answer
