"""What the machine offers to a training."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from pathlib import Path

import psutil

from autotune.value import Value


class Machine(Value):
    """Devices, cores and memory that one training on this host may use."""

    cpus: int
    """Cores that this process may run on."""
    memory: int
    """Bytes of main memory."""
    processor: str
    gpus: tuple[str, ...] = ()
    """Names of the GPUs that TensorFlow sees, in its order."""
    tpus: int = 0
    """TPU cores that TensorFlow sees."""
    python: str = ""
    tensorflow: str = ""
    keras: str = ""

    @property
    def fingerprint(self) -> str:
        """Equal for machines on which measurements may be compared. Twelve hex digits."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """Return it in a few words."""
        devices = [f"{self.cpus} CPU core{'s' * (self.cpus != 1)}", *self.gpus]
        if self.tpus:
            devices.append(f"{self.tpus} TPU core{'s' * (self.tpus != 1)}")
        return f"{', '.join(devices)}, {self.memory / 2**30:.0f} GiB"


def this_host(*, gpus: tuple[str, ...], tpus: int, tensorflow: str, keras: str) -> Machine:
    """Return this host with the devices that TensorFlow reported from a process of its own."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)),
        memory=psutil.virtual_memory().total,
        processor=_processor(),
        gpus=gpus,
        tpus=tpus,
        python=platform.python_version(),
        tensorflow=tensorflow,
        keras=keras,
    )


def free_ports(count: int) -> tuple[int, ...]:
    """Return TCP ports that were free a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return tuple(each.getsockname()[1] for each in sockets)
    finally:
        for each in sockets:
            each.close()


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
