"""How long a trial takes from its request to the end of its first step.

Forked from the fork server, against the same program in a freshly started Python; for one process
and for two workers. The ways take turns, because the machine's speed changes with the hour.

    python benchmarks/start_of_trial.py --repeats 7
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from autotune.cluster import Role, tf_config
from autotune.config import Configuration
from autotune.machine import free_ports
from autotune.reason import Measured
from autotune.reason.sentences import reason_text
from autotune.run.engine import Outcome, Stop, TrialRequest, Window
from autotune.run.local import LocalEngine
from autotune.workload import Factory, Workload

PROGRAMS = Path(__file__).parents[1] / "tests" / "integration" / "run" / "programs"
GOALS = {"fit": 5.0, "gang": 3.0}
ROLES = {"fit": (Role(),), "gang": (Role(index=0), Role(index=1))}
FRESH = """
import os, runpy, sys
from keras.callbacks import Callback

class Leave(Callback):
    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])
        os.write(1, b"stepped")
        os._exit(0)

runpy.run_path(sys.argv[1], run_name="train")["main"](["--epochs", "9"], callbacks=[Leave()])
"""


def main() -> None:
    """Print the times of each repeat, their medians, and how many times faster forking is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    print("program  way     median   all, in seconds")
    with LocalEngine() as engine:
        engine.machine()  # so that the first trial does not wait for the server's import
        for program in GOALS:
            compare(engine, program, repeats)


def compare(engine: LocalEngine, program: str, repeats: int) -> None:
    """Time both ways in turns and print the outcome."""
    ways: dict[str, Callable[[], float]] = {
        "fresh": lambda: fresh(program),
        "forked": lambda: forked(engine, program),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeats):
        for way, run in ways.items():
            times[way].append(run())
    for way, seconds in times.items():
        values = " ".join(f"{value:.2f}" for value in seconds)
        print(f"{program:8} {way:7} {statistics.median(seconds):5.2f}    {values}")
    ratio = statistics.median(times["fresh"]) / statistics.median(times["forked"])
    print(f"{program:8} forked is {ratio:.1f} times faster (goal: {GOALS[program]:g})")


def forked(engine: LocalEngine, program: str) -> float:
    """Return the seconds to the end of the first step of a trial."""
    unused = Factory(name="unused", module="unused")
    with tempfile.TemporaryDirectory() as folder:
        request = TrialRequest(
            configuration=Configuration(),
            script=source(program).read_text(encoding="utf-8"),
            workload=Workload(model=unused, dataset=unused),
            roles=ROLES[program],
            folder=Path(folder) / "trial",
        )
        result = engine.run(request, stop)
    if result.start_seconds is None or result.first_step_seconds is None:
        raise SystemExit(f"{program}: {reason_text(result.reason)}\n{result.detail}")
    return result.start_seconds + result.first_step_seconds


def fresh(program: str) -> float:
    """Return the seconds to the end of the first step in new processes."""
    roles = ROLES[program]
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(roles))]
    begun = time.monotonic()
    workers = []
    for role in roles:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
        if len(roles) > 1:
            environment["TF_CONFIG"] = tf_config(roles, addresses, role)
        command = [sys.executable, "-c", FRESH, str(source(program))]
        workers.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        )
    told = workers[0].stdout.read(7) if workers[0].stdout else b""
    seconds = time.monotonic() - begun
    for worker in workers:
        worker.kill()
        worker.communicate()
    if told != b"stepped":
        raise SystemExit(f"{program}: a fresh process did not train.")
    return seconds


def source(program: str) -> Path:
    """Return the file of a program."""
    return PROGRAMS / f"{program}.py"


def stop(windows: Sequence[Window]) -> Stop | None:
    """End a trial after its first window."""
    return Stop(Outcome.MEASURED, Measured()) if windows else None


if __name__ == "__main__":
    main()
