"""Start the 2 workers of train.py on this machine and wait for them.

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

WORKERS = 2
PROGRAM = Path(__file__).with_name("train.py")


class Worker:
    """One process of the training.

    Args:
        index: Its number; worker 0 is the one that reports and saves.
        addresses: Host and port of every worker.
    """

    def __init__(self, index: int, addresses: list[str]) -> None:
        """Start the process."""
        self.index = index
        cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(cluster)}
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, *sys.argv[1:]],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A session of its own, so that Ctrl-C reaches this program and not the workers.
            start_new_session=True,
        )
        self.output = threading.Thread(target=self.forward, daemon=True)
        self.output.start()

    def forward(self) -> None:
        """Print what the worker prints, with its number in front."""
        for line in self.process.stdout or ():
            print(f"[worker {self.index}] {line}", end="", flush=True)

    def kill(self) -> None:
        """End the worker; not by SIGTERM, which TensorFlow ignores in a worker."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def free_addresses() -> list[str]:
    """Return an address for each worker, with a port that nobody uses."""
    sockets = [socket.socket() for _ in range(WORKERS)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait(workers: list[Worker]) -> int:
    """Return 0 once all workers are done, or 1 as soon as one of them fails."""
    while any(each.process.poll() is None for each in workers):
        if any(each.process.poll() for each in workers):
            break
        time.sleep(0.1)
    failed = [each for each in workers if each.process.poll()]
    for each in failed:
        print(f"Worker {each.index} ended with status {each.process.poll()}.", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    """Start the workers, and leave none of them behind."""
    # Else SIGTERM would end this program without a chance to end the workers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    addresses = free_addresses()
    workers: list[Worker] = []
    try:
        for index in range(WORKERS):
            workers.append(Worker(index, addresses))
        return wait(workers)
    except KeyboardInterrupt:
        return 130
    finally:
        for each in workers:
            each.kill()
        for each in workers:
            each.output.join(timeout=5)


if __name__ == "__main__":
    sys.exit(main())
