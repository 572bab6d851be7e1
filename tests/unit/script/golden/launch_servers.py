"""Start the 4 processes of train.py on this machine and wait for the chief.

All arguments go to train.py:

    python launch.py --epochs 5
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PROCESSES = {"chief": 1, "worker": 2, "ps": 1}
PROGRAM = Path(__file__).with_name("train.py")


class Process:
    """One process of the training.

    Args:
        kind: What it is to the others.
        index: Its number among those of its kind; the chief is the one that reports and saves.
        cluster: Host and port of every process, by kind.
    """

    def __init__(self, kind: str, index: int, cluster: dict[str, list[str]]) -> None:
        """Start the process."""
        self.name = f"{kind} {index}"
        task = {"cluster": cluster, "task": {"type": kind, "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, *sys.argv[1:]],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A session of its own, so that Ctrl-C reaches this program and not the process.
            start_new_session=True,
        )
        self.output = threading.Thread(target=self.forward, daemon=True)
        self.output.start()

    def forward(self) -> None:
        """Print what the process prints, with its name in front."""
        for line in self.process.stdout or ():
            print(f"[{self.name}] {line}", end="", flush=True)

    def kill(self) -> None:
        """End the process; not by SIGTERM, which TensorFlow may ignore."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def free_cluster() -> dict[str, list[str]]:
    """Return an address for each process, with a port that nobody uses."""
    sockets = {kind: [socket.socket() for _ in range(n)] for kind, n in PROCESSES.items()}
    every = [each for kind in sockets.values() for each in kind]
    try:
        for each in every:
            each.bind(("127.0.0.1", 0))
        return {
            kind: [f"127.0.0.1:{each.getsockname()[1]}" for each in of_kind]
            for kind, of_kind in sockets.items()
        }
    finally:
        for each in every:
            each.close()


def wait(processes: list[Process]) -> int:
    """Return 0 once the chief is done, or 1 as soon as any process fails."""
    while processes[0].process.poll() is None:
        if any(each.process.poll() for each in processes):
            break
        time.sleep(0.1)
    failed = [each for each in processes if each.process.poll()]
    for each in failed:
        name = each.name.capitalize()
        print(f"{name} exited with status {each.process.poll()}.", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    """Start the processes, and leave none of them behind."""
    # Else SIGTERM would end this program without a chance to end the processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cluster = free_cluster()
    processes: list[Process] = []
    try:
        for kind, addresses in cluster.items():
            for index in range(len(addresses)):
                processes.append(Process(kind, index, cluster))
        return wait(processes)
    except KeyboardInterrupt:
        return 130
    finally:
        for each in processes:
            each.kill()
        for each in processes:
            each.output.join(timeout=5)


if __name__ == "__main__":
    sys.exit(main())
