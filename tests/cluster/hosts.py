"""Hosts that are namespaces of one machine: a network, processes, a name and mounts of their own.

A host lives as long as its first process, and a cable as long as both of its ends, so whatever ends
the tests leaves nothing behind. Files are shared, but for the folders of `PRIVATE`.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

NETWORK = "10.77.0"
PRIVATE = ("/dev/shm", "/run", "/tmp/ray")  # noqa: S108 - each host has its own
NAMESPACES = ("--net", "--mount", "--pid", "--uts")
FIRST_PROCESS = """\
set -e
echo "${1%%.*}" > /proc/sys/kernel/hostname
mount --bind "$2" /etc/hosts
shift 2
for each in "$@"; do mkdir -p "$each"; mount -t tmpfs none "$each"; done
ip link set lo up
echo ready
sleep infinity &
wait
"""
SWITCH = "ip link add br0 type bridge; ip link set br0 up; echo ready; exec sleep infinity"


def why_not() -> str | None:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "hosts as network namespaces need root on Linux"
    for program, package in {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}.items():
        if shutil.which(program) is None:
            return f"hosts as network namespaces need {program}, of the package {package}"
    tried = ["unshare", *NAMESPACES, "--fork", "--mount-proc", "true"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    return f"there are no namespaces here: {done.stderr.strip()}" if done.returncode else None


@dataclass(frozen=True)
class Host:
    """A host that runs: what is started in its namespaces runs on it."""

    name: str
    address: str
    first: int
    """Its first process, as the machine numbers it."""

    def start(self, *command: str | Path, **options: object) -> subprocess.Popen[str]:
        """Start a command on the host, in a process group of its own; all output in one stream."""
        inside = ["nsenter", f"--target={self.first}", *NAMESPACES]
        here = ["env", f"--chdir={options.pop('cwd', '/')}"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            [*inside, *here, *command], text=True, start_new_session=True, **streams
        )

    def run(
        self, *command: str | Path, timeout: float = 120, **options: object
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the host, and end all of it where it takes too long."""
        process = self.start(*command, **options)
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def do(self, *command: str | Path) -> None:
        done = self.run(*command)
        assert done.returncode == 0, done.stdout

    def processes(self) -> list[psutil.Process]:
        """Return what runs on the host, without what the host itself consists of.

        The name is `.info["name"]`: `.name()` fails for one that ended meanwhile.
        """
        mine = _namespace(self.first)
        own = [psutil.Process(self.first), *psutil.Process(self.first).children()]
        # Unlike `psutil.Process(pid)` it passes over those that end meanwhile.
        found = (each for each in psutil.process_iter(["name"]) if _namespace(each.pid) == mine)
        return [each for each in found if each not in own[:2] and _lives(each)]


class Hosts(Sequence[Host]):
    def __init__(self, names: Sequence[str], folder: Path) -> None:
        """Start them; the part of a name before a dot is a host's own. The folder takes a file."""
        self._holders: list[subprocess.Popen[str]] = []
        self._hosts: list[Host] = []
        addresses = {name: f"{NETWORK}.{10 + number}" for number, name in enumerate(names)}
        lines = ["127.0.0.1 localhost", *(f"{at} {name}" for name, at in addresses.items())]
        (folder / "hosts").write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            self._switch = self._hold("--net", "--", "sh", "-c", SWITCH).pid
            for name, address in addresses.items():
                self._hosts.append(self._host(name, address, folder / "hosts"))
                self._plug_in(self._hosts[-1])
        except BaseException:
            self.close()
            raise

    def __getitem__(self, number: int) -> Host:  # type: ignore[override] # never a slice
        return self._hosts[number]

    def __len__(self) -> int:
        return len(self._hosts)

    def shape(self, rate: str | None) -> None:
        """Let no host send faster than so much, such as `100mbit`; None: as fast as it can."""
        for host in self:
            host.run("tc", "qdisc", "delete", "dev", "eth0", "root")
            if rate is not None:
                limits = ["rate", rate, "burst", "64kb", "latency", "10ms"]
                host.do("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *limits)

    def cut(self, number: int) -> None:
        self._on_switch("ip", "link", "set", f"p{number}", "down")

    def close(self) -> None:
        """End all hosts; the kernel takes away what belonged to them."""
        for each in self._holders:
            each.kill()
        for each in self._holders:
            each.communicate()

    def _hold(self, *arguments: str | Path) -> subprocess.Popen[str]:
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *arguments]
        holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._holders.append(holder)
        assert holder.stdout
        assert holder.stdout.readline() == "ready\n", "no namespace could be made"
        return holder

    def _host(self, name: str, address: str, file: Path) -> Host:
        made = [*NAMESPACES, "--fork", "--mount-proc", "--kill-child", "--"]
        holder = self._hold(*made, "bash", "-c", FIRST_PROCESS, "-", name, file, *PRIVATE)
        [first] = psutil.Process(holder.pid).children()
        return Host(name, address, first.pid)

    def _plug_in(self, host: Host) -> None:
        port = f"p{len(self) - 1}"
        far_end = ["peer", "name", "eth0", "netns", str(host.first)]
        self._on_switch("ip", "link", "add", port, "type", "veth", *far_end)
        self._on_switch("ip", "link", "set", port, "master", "br0", "up")
        host.do("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        host.do("ip", "link", "set", "eth0", "up")

    def _on_switch(self, *command: str) -> None:
        inside = ["nsenter", f"--target={self._switch}", "--net"]
        subprocess.run([*inside, *command], check=True)


def _namespace(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return None


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
