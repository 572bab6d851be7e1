"""Times one program as a trial of an agent, as one of this host, and as a job of Ray, in turns.

    python -m benchmarks.starts.timed HOST:PORT ROUNDS

To be called on a host of the cluster. Prints the seconds of each round, as JSON.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from autotune.engine.base import Engine
from autotune.engine.local import LocalEngine
from autotune.engine.ray import RayEngine
from tests.trials import request_for

PROGRAM = """\
import time

import keras
import numpy as np


def main(*_, **__):
    print("began", time.time(), flush=True)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((32, 8)), np.zeros((32, 1)), verbose=0)
    print("stepped", time.time(), flush=True)


if __name__ == "__main__":
    main()
"""
JOB = ("ray", "job", "submit", "--working-dir", ".", "--", "python", "train.py")


class Round(NamedTuple):
    """Seconds of one round."""

    agent: float
    """From the order of a trial of the agent to its first step."""
    job: float
    """From that of a job to the same step."""
    on_ray: float
    """The whole of that trial but for its program, ..."""
    here: float
    """... and of one that the local engine runs."""


def main(address: str, rounds: int) -> None:
    """Time all in each round, once the agent and the local engine are there."""
    with (
        tempfile.TemporaryDirectory() as folder,
        RayEngine(f"ray://{address}") as ray,
        LocalEngine() as local,
    ):
        ray.machine()
        for each in (ray, local):
            trial(each, Path(folder) / type(each).__name__)
        for number in range(rounds):
            agent, on_ray = trial(ray, Path(folder) / f"ray{number}")
            _, here = trial(local, Path(folder) / f"local{number}")
            found = Round(agent, job(Path(folder)), on_ray, here)
            print(json.dumps(found), flush=True)


def trial(engine: Engine, folder: Path) -> tuple[float, float]:
    """Run the program as a trial.

    Returns:
        The seconds to its first step, and those of the whole that are not the program's.
    """
    ordered = time.time()
    engine.execute(request_for(PROGRAM, folder), lambda _: None)
    took = time.time() - ordered
    output = (folder / "output-0.txt").read_text("utf-8")
    began, stepped = _told("began", output), _told("stepped", output)
    return stepped - ordered, took - (stepped - began)


def job(folder: Path) -> float:
    """Return the seconds that a job takes to the same step."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        (Path(own) / "train.py").write_text(PROGRAM, encoding="utf-8")
        ordered = time.time()
        done = subprocess.run(JOB, cwd=own, capture_output=True, text=True, check=True)
    return _told("stepped", done.stdout) - ordered


def _told(what: str, output: str) -> float:
    found = re.search(rf"^{what} (\S+)$", output, re.MULTILINE)
    if found is None:
        raise SystemExit(f"The program made no step:\n{output}")
    return float(found[1])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
