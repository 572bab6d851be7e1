"""Start the 2 processes of train.py on a Ray cluster, each on a node of its own.

    ray job submit --working-dir . -- python launch_ray.py --epochs 5

from the folder in which train.py runs on one machine; name this file with its folder where it is
another. Ray copies that folder to all nodes, which need the same Python, the same packages, and
data at the same place. What stands behind launch_ray.py goes to train.py. Typed on a node of the
cluster, `python launch_ray.py --epochs 5` does the same without a job.

The copy is removed. What is to stay needs a folder that all nodes share:

    --resume /shared/checkpoints --history /shared/history.csv --save /shared/model.keras
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import ray
from ray.exceptions import RayError
from ray.util.placement_group import PlacementGroup, placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

PROCESSES = {"worker": 2}
TASKS = [(kind, index) for kind, count in PROCESSES.items() for index in range(count)]
CORES = 1  # that Ray reserves for each process; it uses all that its node has
KEPT = {"--resume", "--history", "--save"}  # whose paths name what is to stay
# Becomes train.py, which the kernel ends with whoever has started it, however that ends.
START = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@ray.remote(max_restarts=0)
class Process:
    """One process of the training, on the node that Ray has given to it."""

    def address(self) -> str:
        """Return where the others reach it, at a port that is kept for it."""
        # Nobody else is given this port; TensorFlow may share it, because nothing listens here.
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("", 0))
        return f"{ray.util.get_node_ip_address()}:{self.holder.getsockname()[1]}"

    def train(self, config: str, program: list[str]) -> Iterator[str | int]:
        """Yield each line that the program prints, and at last its status."""
        environment = {**os.environ, "TF_CONFIG": config}
        environment.pop("OMP_NUM_THREADS", None)  # Ray's: as many as the cores that it reserves
        process = subprocess.Popen(
            [sys.executable, "-c", START, *program],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        while line := process.stdout.readline():
            yield line
        status = process.wait()
        yield status if status >= 0 else 128 - status


def nodes() -> PlacementGroup:
    """Return a place on a node of its own for each process, once Ray has all of them."""
    wanted = [{"CPU": CORES} for _ in TASKS]
    group = placement_group(wanted, strategy="STRICT_SPREAD")
    while not group.wait(30):
        print(f"Waiting for {len(wanted)} nodes that have these free: {wanted}", flush=True)
    return group


def actors(group: PlacementGroup) -> list[ray.actor.ActorHandle]:
    """Return an actor in each place, which may use what is reserved there."""
    return [
        Process.options(
            num_cpus=bundle["CPU"],
            num_gpus=bundle.get("GPU", 0),
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, index),
        ).remote()
        for index, bundle in enumerate(group.bundle_specs)
    ]


def start(program: list[str]) -> dict[ray.ObjectRefGenerator, str]:
    """Start the program as each process; return what each one says, with its name."""
    processes = actors(nodes())
    addresses = iter(ray.get([each.address.remote() for each in processes]))
    cluster = {kind: [next(addresses) for _ in range(n)] for kind, n in PROCESSES.items()}
    said = {}
    for process, (kind, index) in zip(processes, TASKS, strict=True):
        config = json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})
        words = process.train.options(num_returns="streaming").remote(config, program)
        said[words] = f"{kind} {index}"
    return said


def wait(said: dict[ray.ObjectRefGenerator, str]) -> int:
    """Print what is said; return 0 once all are done, or the status of the one that fails first."""
    while said:
        [ready], _ = ray.wait([*said], num_returns=1)
        # Back to the end, so that each gets a turn.
        name = said.pop(ready)
        try:
            word = ray.get(next(ready))
        except RayError as exc:
            sys.exit(f"{name.capitalize()} was lost: {exc}")
        if isinstance(word, str):
            print(f"[{name}] {word}", end="", flush=True)
            said[ready] = name
        elif word:
            print(f"{name.capitalize()} exited with status {word}.", file=sys.stderr)
            return word
    return 0


def check(arguments: list[str]) -> None:
    """End this where something would be written into the copy of the folder."""
    words = [*(word for each in arguments for word in each.split("=", 1)), ""]
    for option, value in pairwise(words):
        if option in KEPT and not Path(value).is_absolute():
            sys.exit(f"{option} needs the full path of a folder that all nodes share.")


def main() -> int:
    """Run train.py with the arguments of the command line."""
    check(sys.argv[1:])
    here = Path.cwd()
    program = Path(__file__).resolve().with_name("train.py")
    if not program.is_relative_to(here):
        sys.exit(f"Start this in {program.parent} or above it: Ray copies the working folder.")
    in_job = "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ
    ray.init("auto", runtime_env=None if in_job else {"working_dir": str(here)})
    # Ray ends all processes with this one.
    try:
        return wait(start([str(program.relative_to(here)), *sys.argv[1:]]))
    except KeyboardInterrupt:
        print("\nStopped: with --resume, the same command goes on from the last saved epoch.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
