"""Devices and input, for the strategies that train on several replicas."""

from __future__ import annotations

import math

from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.text import plural
from autotune.workload import WorkloadFacts

SPLIT_CPU = (
    'cpu = tf.config.list_physical_devices("CPU")[0]',
    "logical = [tf.config.LogicalDeviceConfiguration()] * REPLICAS",
    "tf.config.set_logical_device_configuration(cpu, logical)",
)
"""Lines that make as many logical CPUs as there are replicas."""


def named(kind: str) -> str:
    """Return the line that names a device of a kind for each replica."""
    return f'devices = [f"{kind}:{{index}}" for index in range(REPLICAS)]'


def too_few(configuration: Configuration, machine: Machine) -> str | None:
    """Return why one process here lacks devices for the replicas, or None if it has enough."""
    wanted = configuration.replicas_per_worker
    host = machine.least
    if host.gpus and wanted > len(host.gpus):
        return f"TensorFlow sees {gpus(host)}, too few for {wanted} replicas."
    if not host.gpus and wanted > host.cpus:
        return f"This machine has {cores(host)}, too few for {wanted} replicas on logical CPUs."
    return None


def workers_per_host(workers: int, machine: Machine) -> int:
    """Return how many workers share a host: they fill one after the other."""
    return math.ceil(workers / len(machine.hosts))


def cores(machine: Machine | Host) -> str:
    return plural(machine.cpus, "CPU core")


def gpus(machine: Machine | Host) -> str:
    return plural(len(machine.gpus), "GPU")


def no_source(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return why the dataset factory cannot shard the examples itself, if that is asked of it."""
    if configuration.shard_policy != "source" or "input_context" in facts.dataset_takes:
        return None
    return (
        "Shard policy 'source' needs a dataset factory with a parameter `input_context` that reads "
        "only its own shard."
    )
