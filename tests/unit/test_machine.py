"""What a machine of one host, or of several, says of itself."""

import socket

import pytest

from autotune.machine import Host, Machine, held_ports
from tests.engines.fake import FAKE_MACHINE, fake_machine

SMALL = Host(cpus=2, memory=2**33, processor="x", gpus=("A",), name="one")
LARGE = Host(cpus=8, memory=2**35, processor="y", gpus=("B", "C"), tpus=4, name="two")


def test_totals_are_those_of_all_hosts() -> None:
    """And `least` is what a process finds on whichever host it is."""
    machine = Machine(hosts=(SMALL, LARGE))
    assert (machine.cpus, machine.memory, machine.tpus) == (10, 2**33 + 2**35, 4)
    assert (machine.gpus, machine.processor) == (("A", "B", "C"), "x, y")
    assert (machine.least.cpus, machine.least.memory, machine.least.gpus) == (2, 2**33, ("A",))
    assert str(machine) == "2 hosts: 10 CPU cores, A, B, C, 4 TPU cores, 40 GiB"


def test_equal_hosts_of_other_names_are_comparable() -> None:
    """Measurements are kept under the fingerprint; another host or software is another one.

    A kernel keeps some memory for itself, and a virtual machine may be given more or less.
    """
    one = fake_machine(name="a")
    assert one.fingerprint == fake_machine(name="b").fingerprint == FAKE_MACHINE.fingerprint
    others = [fake_machine(hosts=2), fake_machine(cpus=3), one.model_copy(update={"keras": "4"})]
    assert len({one.fingerprint, *(each.fingerprint for each in others)}) == 4
    assert fake_machine(memory=2**33 - 2**20, free_disk=7).fingerprint == one.fingerprint


def test_a_held_port_is_free_for_a_server_that_reuses_addresses() -> None:
    """So does TensorFlow's; the kernel gives the port to nobody who asks for any."""
    with held_ports(1) as [port]:
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("", port))
            server.listen()
        with socket.socket() as plain, pytest.raises(OSError, match="in use"):
            plain.bind(("", port))
