"""The hosts of a cluster, each with its agent, and the calls to them."""

from __future__ import annotations

import os
import socket
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from autotune.engine.bridge import BridgeClient, Gone, Node
from autotune.engine.lock import REMIND_SECONDS, Notify, Wait, wait_in_turn
from autotune.engine.reasons import WorkersLost
from autotune.engine.tasks.inspect import DevicesRequest
from autotune.engine.user_code import Code, code_of
from autotune.errors import AutotuneError, EngineError
from autotune.installed import VERSION
from autotune.reason import HostLost
from autotune.reason.sentences import reason_text
from autotune.workload import Workload

T = TypeVar("T")
SILENCE_SECONDS = 5.0
"""Without an answer, after which a host counts as lost. Ray itself needs a minute."""
_IMPORT_SECONDS = 300.0
"""For an agent's first task, which waits until TensorFlow is imported."""
_BRING_SECONDS = 60.0
_NOTICE_SECONDS = 10.0
"""That a host may take for an agent before the user is notified."""
_AGENTS = 3
"""That a host gets one after the other, where only they are lost."""
_RETURN_SECONDS = 90.0
"""For an agent in place of one that has ended."""
_PINGS = 9


class RemoteHost:
    """A host and its agent, as the tuner sees them."""

    def __init__(self, bridge: BridgeClient, node: Node) -> None:
        self._bridge = bridge
        self.node = node
        self.lost: HostLost | None = None
        """Why it cannot be used any more."""
        self.agents = 0
        """How many it had."""
        self.boot = ""
        """That of its machine, which is equal for all containers on it."""
        self.code: Code | None = None
        """What it was brought."""
        self._ping: Future[float] | None = None
        self._pinged = 0.0

    def place(self) -> None:
        """Begin to start an agent, which waits until nobody else uses the host."""
        self.lost = self.code = self._ping = None
        self.agents += 1
        self._bridge.ask("", "place", self.node)

    def ask(self, method: str, *arguments: Any) -> Future[Any]:
        return self._bridge.ask(self.node.key, method, *arguments)

    def call(self, method: str, *arguments: Any, seconds: float | None = None) -> Any:
        return answers({self: self.ask(method, *arguments)}, seconds)[self]

    def lose(self, *, silent: float | None = None, memory: bool = False) -> WorkersLost:
        """Strike the host off, end its agent, and return the error that says so."""
        self.lost = HostLost(host=str(self.node), silent=silent, memory=memory)
        self._bridge.ask("", "drop", self.node.key)
        return WorkersLost(self.lost)

    def check_pulse(self) -> None:
        """See that the agent answers at all while another call of it lasts."""
        now = time.monotonic()
        if self._ping is None or self._ping.done():
            self._ping, self._pinged = self.ask("clock"), now
        elif now - self._pinged > SILENCE_SECONDS:
            self._ping = None
            raise self.lose(silent=SILENCE_SECONDS)

    def ahead(self) -> float:
        """Return how far its clock is ahead of ours, by the quickest of some calls."""
        found = []
        for _ in range(_PINGS):
            asked = time.monotonic()
            theirs: float = self.call("clock")
            now = time.monotonic()
            found.append((now - asked, theirs - (asked + now) / 2))
        return min(found)[1]


def answers(
    calls: Mapping[RemoteHost, Future[T]], seconds: float | None = None
) -> dict[RemoteHost, T]:
    """Wait for the answers of several hosts; one that does not answer at all is given up sooner."""
    seconds = seconds or SILENCE_SECONDS
    deadline = time.monotonic() + seconds
    while late := [host for host, call in calls.items() if not call.done()]:
        if time.monotonic() > deadline:
            raise late[0].lose(silent=seconds)
        for host in late:
            host.check_pulse()
        wait([calls[host] for host in late], min(1.0, seconds), FIRST_COMPLETED)
    return {host: answer(host, call) for host, call in calls.items()}


def answer(host: RemoteHost, call: Future[T]) -> T:
    """Return the answer of a host that has given one; raise what its agent has raised."""
    try:
        return call.result()
    except Gone as exc:
        raise host.lose(memory=exc.memory) from exc
    except AutotuneError:
        raise
    except Exception as exc:
        raise EngineError(
            f"The agent on machine {host.node} failed: {type(exc).__name__}: {exc}.",
            "Check that the same autotune is installed on all machines.",
        ) from exc


def bring(workload: Workload, hosts: Sequence[RemoteHost]) -> None:
    code = code_of(workload)
    lacking = {host: host.ask("bring", code) for host in hosts if host.code != code}
    for host in answers(lacking, _BRING_SECONDS):
        host.code = code


class Hosts:
    """Those hosts of a cluster that a search uses, in the order of their addresses."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._bridge: BridgeClient | None = None
        self._all: list[RemoteHost] = []
        self._what = ""
        self._seconds: float | None = None

    @property
    def left(self) -> list[RemoteHost]:
        return [host for host in self._all if host.lost is None]

    @property
    def lost(self) -> tuple[str, ...]:
        """Names and addresses of the others."""
        return tuple(str(host.node) for host in self._all if host.lost)

    def connect(self) -> BridgeClient:
        if self._bridge is None:
            self._bridge = BridgeClient(self._address)
        return self._bridge

    def take(self, notify: Notify = lambda _: None) -> list[RemoteHost]:
        """Have an agent on each host, once nobody else uses it; return those that are left."""
        if self._all:
            return self.left
        bridge = self.connect()
        nodes = sorted(bridge.nodes(), key=lambda node: (node.address, node.key))
        if not nodes:
            raise EngineError(
                "No machine of the Ray cluster has a core to use.",
                "Start one with `ray start --address=... --num-cpus=...`.",
            )
        found = [RemoteHost(bridge, node) for node in nodes]
        # The first one before the others: of two searches, one gets it and the other waits.
        self._wait_for(found[:1], notify)
        self._wait_for(found[1:], notify)
        self._all = found
        self._report_shared(notify)
        return self.left

    def reserve(self, what: str, notify: Notify, seconds: float | None = None) -> None:
        """Wait until no search is running on one of the hosts alone, then keep such waiting."""
        self._seconds = seconds
        # Agents of one search share a machine; one of another with the same name does not.
        self._what = f"{what}, called on {socket.gethostname()} by process {os.getpid()}"
        wait_in_turn(self._busy, notify)

    def _report_shared(self, notify: Notify) -> None:
        """Say which hosts are one machine, as containers are and namespaces."""
        machines = defaultdict(list)
        for host in self.left:
            machines[host.boot].append(host.node.address)
        for same in machines.values():
            if len(same) > 1:
                notify(
                    f"{', '.join(same)} are one machine: its cores and memory are counted "
                    f"{len(same)} times. Workers on machines of their own would gain more."
                )

    def _busy(self) -> Wait | None:
        """Reserve one host after the other; return for whom the first waits that cannot be.

        Each is asked once the one before it is had: of two searches one gets all, and agents of one
        search that share a machine find its name on the claim of the first.
        """
        with loss_as_engine_error():
            for host in self.left:
                wait: Wait | None = host.call("reserve", self._what, self._seconds)
                if wait is not None:
                    return wait.model_copy(update={"host": str(host.node)})
        return None

    def ask_left(self, method: str) -> list[Any]:
        """Return the answers of the hosts that are left; strike off those that are gone."""
        asked = {host: host.ask(method) for host in self.left}
        found: list[Any] = []
        for host, call in asked.items():
            with suppress(WorkersLost):
                found += answers({host: call}).values()
        return found

    def renew(self) -> None:
        """Start new agents where only an agent was lost, and not its host."""
        for host in self._all:
            if host.lost and host.lost.silent is None and host.agents < _AGENTS:
                host.place()
                with suppress(WorkersLost):
                    _await_return(host)
                    host.call("execute", DevicesRequest(), seconds=_IMPORT_SECONDS)
                    if self._what:
                        host.ask("reserve", self._what, self._seconds)

    def close(self) -> None:
        if self._bridge is not None:
            self._bridge.close()
        self._all = []

    def _wait_for(self, hosts: Sequence[RemoteHost], notify: Notify) -> None:
        """Wait until hosts have an agent; say which are used by somebody else."""
        for host in hosts:
            host.place()
        late = {host.ask("about"): host for host in hosts}
        patience = _NOTICE_SECONDS
        while late:
            done, _ = wait(late, patience, FIRST_COMPLETED)
            for each in done:
                _check_placed(late.pop(each), each)
            if not done:
                names = ", ".join(str(host.node) for host in late.values())
                notify(f"Waiting for {names}: the Ray cluster's other jobs use all of its cores.")
                patience = REMIND_SECONDS


@contextmanager
def loss_as_engine_error() -> Iterator[None]:
    try:
        yield
    except WorkersLost as exc:
        raise EngineError(
            reason_text(exc.reason), "Start it again, or take it out of the cluster (`ray stop`)."
        ) from exc


def _await_return(host: RemoteHost) -> None:
    call = host.ask("clock")
    wait([call], _RETURN_SECONDS)
    if not call.done():
        raise host.lose(silent=_RETURN_SECONDS)
    answer(host, call)


def _check_placed(host: RemoteHost, call: Future[tuple[str, str]]) -> None:
    """Raise EngineError if an agent did not come to run, or is another autotune's."""
    try:
        version, host.boot = call.result()
    except Exception as exc:
        said = str(exc).strip().splitlines() or [type(exc).__name__]
        raise EngineError(
            f"Machine {host.node} cannot run autotune's agent: {said[-1]}",
            "Install the same autotune with its extra `ray` on all machines.",
        ) from exc
    if version != VERSION:
        raise EngineError(
            f"Machine {host.node} runs autotune {version}, this one {VERSION}.",
            "Install the same version of autotune on all machines.",
        )
