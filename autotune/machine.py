"""What the hosts of a machine offer to a training."""

import hashlib
import os
import platform
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from pydantic import Field

from autotune.base import Value
from autotune.text import plural


class Host(Value):
    """Devices, cores and memory of one host that a training may use."""

    cpus: int
    """Cores that autotune may run on."""
    memory: int
    """Bytes of main memory."""
    processor: str
    gpus: tuple[str, ...] = ()
    """Names of the GPUs that TensorFlow sees, in its order."""
    tpus: int = 0
    """TPU cores that TensorFlow sees."""
    free_disk: int = 0
    """Bytes that temporary files may take."""
    name: str = ""
    """Name or address by which the other hosts reach it; empty for the only one."""


class Machine(Value):
    """The hosts that one training may use, and their software, which is the same on all."""

    hosts: tuple[Host, ...] = Field(min_length=1)
    """The processes of a training name them by their position here."""
    python: str = ""
    tensorflow: str = ""
    keras: str = ""

    @property
    def cpus(self) -> int:
        """Cores of all hosts."""
        return sum(host.cpus for host in self.hosts)

    @property
    def memory(self) -> int:
        """Bytes of main memory of all hosts."""
        return sum(host.memory for host in self.hosts)

    @property
    def processor(self) -> str:
        """Names of the hosts' processors, each once."""
        return ", ".join(dict.fromkeys(host.processor for host in self.hosts))

    @property
    def gpus(self) -> tuple[str, ...]:
        """Names of all GPUs, host by host."""
        return tuple(gpu for host in self.hosts for gpu in host.gpus)

    @property
    def tpus(self) -> int:
        """TPU cores of all hosts."""
        return sum(host.tpus for host in self.hosts)

    @cached_property
    def least(self) -> Host:
        """What every host has at least, which bounds a process that may run on any of them."""
        return Host(
            cpus=min(host.cpus for host in self.hosts),
            memory=min(host.memory for host in self.hosts),
            processor=self.processor,
            gpus=min((host.gpus for host in self.hosts), key=len),
            tpus=min(host.tpus for host in self.hosts),
            free_disk=min(host.free_disk for host in self.hosts),
        )

    @property
    def fingerprint(self) -> str:
        """Equal for machines on which measurements may be compared. Twelve hex digits.

        What a virtual machine or a kernel varies is no part of it, nor what only bounds a trial.
        """
        varies = {"name", "free_disk", "memory"}
        described = self.model_dump_json(exclude={"hosts": {"__all__": varies}})
        return hashlib.sha256(described.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """Return it in a few words."""
        devices = [f"{plural(self.cpus, 'CPU core')}", *self.gpus]
        if self.tpus:
            devices.append(f"{plural(self.tpus, 'TPU core')}")
        text = f"{', '.join(devices)}, {self.memory / 2**30:.0f} GiB"
        return text if len(self.hosts) == 1 else f"{len(self.hosts)} hosts: {text}"


def this_host(*, gpus: tuple[str, ...], tpus: int, tensorflow: str, keras: str) -> Machine:
    """Return this host with the devices that TensorFlow reported from a process of its own."""
    host = Host(
        cpus=len(os.sched_getaffinity(0)),
        memory=psutil.virtual_memory().total,
        processor=_processor(),
        gpus=gpus,
        tpus=tpus,
        free_disk=shutil.disk_usage(tempfile.gettempdir()).free,
    )
    return Machine(
        hosts=(host,), python=platform.python_version(), tensorflow=tensorflow, keras=keras
    )


def seen_from_outside() -> str:
    """Return what is equal while this host is the same, as far as no TensorFlow has to tell."""
    models = Path("/proc/driver/nvidia/gpus").glob("*/information")
    gpus = [*map(_model, sorted(models)), os.environ.get("CUDA_VISIBLE_DEVICES", "all")]
    tensorflow, keras = map(_version, ("tensorflow", "keras"))
    return this_host(gpus=(*gpus,), tpus=0, tensorflow=tensorflow, keras=keras).fingerprint


def _model(information: Path) -> str:
    found = re.search(r"^Model:\s*(.*)$", information.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # Another distribution has it, such as one for CPUs alone.
        return ""


@contextmanager
def held_ports(count: int) -> Iterator[list[int]]:
    """Give TCP ports that the kernel gives nobody else meanwhile.

    TensorFlow's server can take them nevertheless: both say SO_REUSEADDR, and these sockets do not
    listen.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("", 0))
        yield [each.getsockname()[1] for each in sockets]


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def boot_id() -> str:
    """Return what names this boot of the machine; containers on it share it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
