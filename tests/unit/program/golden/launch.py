"""Start the 2 processes of train.py and wait for them, on this machine or on several.

    python launch.py --epochs 20
    python launch.py --hosts node1,node2 --epochs 20

`--hosts` names one for each worker, of which worker 0 reports and saves. Others than
this one are reached by ssh, which must not ask for a password. They need the same Python, this
folder and all that train.py imports and reads, at the same places. With `--print` nothing is
started: the command of each host is shown. All other arguments go to train.py.

Where a process is killed, all are ended and started again, from the last checkpoint.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PROCESSES = {"worker": 2}
LAUNCHER = Path(__file__).resolve()
PROGRAM = LAUNCHER.with_name("train.py")
# Of the first process on several hosts; the next one has the next port. `--hosts node1:30000,...`
# says otherwise.
PORT = 20000
# What `wait` returns where a process was killed.
KILLED = 137


class Process:
    """One process of the training.

    Args:
        kind: What it is to the others.
        index: Its number among those of its kind; worker 0 is the one that reports and saves.
        cluster: Host and port of every process, by kind.
        arguments: What train.py is given.
    """

    def __init__(
        self, kind: str, index: int, cluster: dict[str, list[str]], arguments: list[str]
    ) -> None:
        """Prepare the process."""
        self.name = f"{kind} {index}"
        self.host = host_of(cluster[kind][index])
        self.here = is_here(self.host)
        self.arguments = arguments
        task = {"cluster": cluster, "task": {"type": kind, "index": index}}
        self.environment = {"TF_CONFIG": json.dumps(task)}

    def line(self, *program: str) -> str:
        """Return what starts a program as this process, for the shell of its host."""
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        command = ["env", *pairs, sys.executable, *program, *self.arguments]
        return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(command)}"

    def start(self) -> None:
        """Start the process, by ssh where its host is another one."""
        here = [sys.executable, str(PROGRAM), *self.arguments]
        there = ["ssh", "-o", "BatchMode=yes", "--", self.host]
        self.process = subprocess.Popen(
            here if self.here else [*there, self.line(str(LAUNCHER), "--attached")],
            env={**os.environ, **self.environment},
            stdin=None if self.here else subprocess.PIPE,
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

    def detach(self) -> None:
        """Close the input of a process on another host, which ends it there."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def kill(self) -> None:
        """End the process; not by SIGTERM, which TensorFlow may ignore."""
        if self.process.stdin is not None:
            self.output.join(timeout=5)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def host_of(address: str) -> str:
    """Return an address without its port."""
    return address.rpartition(":")[0]


def is_here(host: str) -> bool:
    """Return whether a host is this one: nobody may listen on the address of another."""
    try:
        with socket.create_server((host, 0)):
            return True
    except OSError:
        return False


def free_addresses() -> list[str]:
    """Return an address on this machine for each process, with a port that nobody uses."""
    sockets = [socket.socket() for _ in range(sum(PROCESSES.values()))]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    finally:
        for each in sockets:
            each.close()


def addresses_on(hosts: str) -> list[str]:
    """Return an address for each process, on the hosts that the user names."""
    names = hosts.split(",")
    if len(names) != sum(PROCESSES.values()):
        wanted = ", ".join(f"{count} {kind}" for kind, count in PROCESSES.items())
        sys.exit(
            f"--hosts names {len(names)}, but there are {sum(PROCESSES.values())} processes "
            f"({wanted}): name one host for each, if need be the same again."
        )
    return [name if ":" in name else f"{name}:{PORT + i}" for i, name in enumerate(names)]


def by_kind(addresses: list[str]) -> dict[str, list[str]]:
    """Return the addresses of each kind of process."""
    left = iter(addresses)
    return {kind: [next(left) for _ in range(count)] for kind, count in PROCESSES.items()}


def wait(processes: list[Process]) -> int:
    """Return 0 once all processes are done, 1 as soon as one of them fails, or KILLED."""
    while any(each.process.poll() is None for each in processes):
        if any(each.process.poll() for each in processes):
            break
        time.sleep(0.1)
    failed = {each.name: each.process.poll() for each in processes if each.process.poll()}
    for name, status in failed.items():
        print(f"{name.capitalize()} exited with status {status}.", file=sys.stderr)
    if any(status < 0 or status > 128 for status in failed.values()):
        return KILLED
    return 1 if failed else 0


def run(processes: list[Process]) -> int:
    """Start the processes, and leave none of them behind."""
    # Else SIGTERM would end this program without a chance to end the processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started: list[Process] = []
    try:
        for each in processes:
            each.start()
            started.append(each)
        return wait(started)
    except KeyboardInterrupt:
        print("\nStopped: the same command goes on from the last saved epoch.", file=sys.stderr)
        return 130
    finally:
        for each in started:
            each.detach()
        for each in started:
            each.kill()
        for each in started:
            each.output.join(timeout=5)


def run_attached(arguments: list[str]) -> int:
    """Run train.py for a launcher on another host, until that closes our input."""
    command = [sys.executable, str(PROGRAM), *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end_with_launcher() -> None:
        sys.stdin.read()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    threading.Thread(target=end_with_launcher, daemon=True).start()
    status = process.wait()
    return status if status >= 0 else 128 - status


def prepared(hosts: str | None, arguments: list[str]) -> list[Process]:
    """Return all processes, to be started on some hosts, or on this machine."""
    cluster = by_kind(addresses_on(hosts) if hosts else free_addresses())
    return [
        Process(kind, index, cluster, arguments)
        for kind, addresses in cluster.items()
        for index in range(len(addresses))
    ]


def main() -> int:
    """Start the processes where the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--hosts", help="a host for each process, with commas between them")
    parser.add_argument("--print", action="store_true", help="show what to run on each host")
    parser.add_argument("--attached", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--restarts", type=int, default=3, help="at most so many; default: 3")
    options, arguments = parser.parse_known_args()
    if options.attached:
        return run_attached(arguments)
    if options.print:
        for each in prepared(options.hosts, arguments):
            print(f"# {each.name.capitalize()}, on {each.host}:\n{each.line(str(PROGRAM))}")
        return 0
    restarts = 0 if "--no-resume" in arguments else options.restarts
    while (status := run(prepared(options.hosts, arguments))) == KILLED and restarts > 0:
        restarts -= 1
        print("Starting all again, from the last checkpoint.", file=sys.stderr)
    return 1 if status == KILLED else status


if __name__ == "__main__":
    sys.exit(main())
