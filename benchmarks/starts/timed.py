"""Times from an order to the first step: by an agent, and as a fresh job of Ray, in turns.

    python -m benchmarks.starts.timed HOST:PORT ROUNDS

To be called on a host of the cluster. Prints the seconds of both for each round, as JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autotune.run.remote.ray_engine import RayEngine
from tests.trials import request_for

PROGRAM = """\
import time

import keras
import numpy as np


def main(*_, **__):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((32, 8)), np.zeros((32, 1)), verbose=0)
    print("stepped", time.time(), flush=True)


if __name__ == "__main__":
    main()
"""
JOB = ("ray", "job", "submit", "--working-dir", ".", "--", "python", "train.py")


def main(address: str, rounds: int) -> None:
    """Time both in each round, once the agent is there."""
    with tempfile.TemporaryDirectory() as folder, RayEngine(f"ray://{address}") as engine:
        engine.machine()
        by_agent(engine, Path(folder) / "first")
        for number in range(rounds):
            agent = by_agent(engine, Path(folder) / str(number))
            print(json.dumps([agent, by_job(Path(folder) / str(number))]), flush=True)


def by_agent(engine: RayEngine, folder: Path) -> float:
    """Return the seconds that a trial takes to its first step."""
    ordered = time.time()
    engine.run(request_for(PROGRAM, folder), lambda _: None)
    return _stepped((folder / "output-0.txt").read_text("utf-8")) - ordered


def by_job(folder: Path) -> float:
    """Return the seconds that a job takes to the same step."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        (Path(own) / "train.py").write_text(PROGRAM, encoding="utf-8")
        ordered = time.time()
        done = subprocess.run(JOB, cwd=own, capture_output=True, text=True, check=True)
    return _stepped(done.stdout) - ordered


def _stepped(output: str) -> float:
    found = re.search(r"^stepped (\S+)$", output, re.MULTILINE)
    if found is None:
        raise SystemExit(f"The program made no step:\n{output}")
    return float(found[1])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
