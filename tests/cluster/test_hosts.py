"""Hosts as namespaces behave as hosts do."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil

from tests.cluster.hosts import Hosts

SEND = (
    "import socket; s = socket.create_connection(('10.77.0.11', 5000)); s.sendall(bytes(2500000))"
)
RECEIVE = """\
import socket, time
with socket.create_server(("", 5000)) as server:
    print("ready", flush=True)
    link, _ = server.accept()
    start = time.monotonic()
    while link.recv(1 << 16):
        pass
    print(time.monotonic() - start)
"""


def test_hosts_have_names_and_reach_each_other(hosts: Hosts) -> None:
    """By their names, as in `/etc/hosts`, which is not that of the machine."""
    assert [host.run("hostname").stdout.strip() for host in hosts] == ["host0", "host1", "host2"]
    look = "import socket; print(socket.gethostbyname('host2'))"
    assert hosts[0].run("python3", "-c", look).stdout == "10.77.0.12\n"
    assert "host2" not in Path("/etc/hosts").read_text("utf-8")


def test_a_shaped_link_takes_as_long_as_it_must(hosts: Hosts) -> None:
    """Two and a half megabytes at 20 Mbit/s take a second, less what fits into the burst."""
    hosts.shape("20mbit")
    receiver = hosts[1].start("python3", "-c", RECEIVE)
    assert receiver.stdout
    assert receiver.stdout.readline() == "ready\n"
    hosts[0].do("python3", "-c", SEND)
    output, _ = receiver.communicate(timeout=60)
    assert float(output) > 0.9


def test_a_cut_link_is_silent_until_it_is_mended(hosts: Hosts) -> None:
    """Nobody refuses a connection: there is no answer."""
    connect = "import socket; socket.create_connection(('host1', 5000), timeout=0.5)"
    assert "ConnectionRefusedError" in hosts[0].run("python3", "-c", connect).stdout
    hosts.cut(1)
    assert "TimeoutError" in hosts[0].run("python3", "-c", connect).stdout
    hosts.mend(1)
    deadline = time.monotonic() + 60  # The kernel asks for the neighbour's address again.
    while "ConnectionRefusedError" not in hosts[0].run("python3", "-c", connect).stdout:
        assert time.monotonic() < deadline


def test_a_host_without_power_runs_nothing(hosts: Hosts) -> None:
    """What it ran is gone; the other hosts run on."""
    with hosts[1].start("sleep", "1000") as on_one, hosts[2].start("sleep", "1000") as on_two:
        while not (hosts[1].processes() and hosts[2].processes()):
            time.sleep(0.01)
        hosts.power_off(1)
        assert on_one.wait(timeout=60) != 0
        assert [each.name() for each in hosts[2].processes()] == ["sleep"]
        os.killpg(on_two.pid, 9)


def test_nothing_is_left_of_hosts(namespaces: None, tmp_path: Path) -> None:
    """Neither what they ran nor what they were."""
    del namespaces
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    hosts = Hosts(("host0", "host1"), tmp_path)
    with hosts[0].start("sleep", "1000"):
        hosts.close()
    assert {each.pid for each in psutil.Process().children(recursive=True)} == before
