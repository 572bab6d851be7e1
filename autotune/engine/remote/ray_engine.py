"""The engine that runs trials on the hosts of a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import permutations
from typing import Self

from autotune.engine.engine import NOTHING, RunResult, Tell, TrialRequest, Watch
from autotune.engine.folder import TrialFolder
from autotune.engine.load import Load
from autotune.engine.process_engine import ProcessEngine
from autotune.engine.remote.code import code_of
from autotune.engine.remote.group import RemoteGroup
from autotune.engine.remote.hosts import Hosts, RemoteHost, answers, bring, told
from autotune.engine.remote.links import Link
from autotune.engine.trial_run import TrialRun
from autotune.engine.workers import WorkersLost
from autotune.errors import EngineError, FactoryFailed, UsageError, WorkloadError
from autotune.extras import check_installed
from autotune.machine import Machine
from autotune.reason import Outcome, TooFewHosts
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts

SCHEME = "ray://"
_ADDRESS = "RAY_ADDRESS"
_LINK_SECONDS = 10.0
_INSPECT_STEPS = 10
"""Steps of an inspection, two attempts and its start, at most; each has the same limit."""
_EVERYWHERE = "Put the data in the same place on all machines, or on a file system that they share."
_SAME = {
    "element": "examples are",
    "examples": "their number is",
    "file_shards": "files to divide them by are",
    "weights": "the model's weights are",
}
"""Facts that are equal on all hosts, and what to call them."""


class RayEngine(ProcessEngine):
    """Runs trials on the hosts of a Ray cluster, through an agent on each.

    It connects at once and in the background when it is entered; agents are started by the first
    call that needs one, and keep the hosts' cores and GPUs for themselves until it is closed.

    Args:
        url: `ray://host:port`, with the address that `ray start --address` takes. `ray://` takes
            it from RAY_ADDRESS, or else the cluster that this machine is part of.
    """

    def __init__(self, url: str = SCHEME) -> None:
        check_installed("ray", by="The engine ray", extra="ray")
        self.hosts = Hosts(_address(url))

    def __enter__(self) -> Self:
        """Begin to connect to the cluster."""
        self.hosts.connect()
        return self

    @contextmanager
    def reserved(self, what: str, tell: Tell, seconds: float | None = None) -> Iterator[None]:
        """Wait until nobody else uses the hosts; they are kept until the engine is closed."""
        try:
            self.hosts.take(tell)
            self.hosts.reserve(what, tell, seconds)
        except BaseException:
            # Whoever gives up does not enter the engine, and so nobody else would close it.
            self.close()
            raise
        yield

    def load(self) -> Load | None:
        """Return what other programs have taken of the hosts' cores since the last call."""
        found = answers({host: host.ask("load") for host in self.hosts.left})
        loads = [each for each in found.values() if each]
        return _together(loads) if loads else None

    def lost_hosts(self) -> tuple[str, ...]:
        """Return which hosts were lost, after those got new agents that can have one."""
        self.hosts.renew()
        return self.hosts.lost

    def machine(self) -> Machine:
        """Return what the cluster's hosts offer, as TensorFlow sees it."""
        return self.hosts.machine()

    def inspect(
        self,
        workload: Workload,
        *,
        offered: Mapping[str, Scalar] = NOTHING,
        seconds: float = 60.0,
    ) -> WorkloadFacts:
        """Call the factories on every host and report what they give, which has to be the same."""
        self.hosts.take(lambda _: None)
        hosts, code = self.hosts.left, code_of(workload)
        with told(), self._interruptible(hosts):
            bring(code, hosts)
            asked = {host: host.ask("inspect", workload, dict(offered), seconds) for host in hosts}
            return _same(asked, _INSPECT_STEPS * seconds)

    def links(self) -> dict[tuple[str, str], Link | None]:
        """Return what the network gives from each host to each other one, by their addresses.

        None stands for a host that is not reached.
        """
        self.hosts.take(lambda _: None)
        hosts = self.hosts.left
        with told():
            return {
                (here.node.address, there.node.address): _link(here, there)
                for here, there in permutations(hosts, 2)
            }

    def clocks(self) -> dict[str, float]:
        """Return by how many seconds each host's time of day is ahead of this one's."""
        self.hosts.take(lambda _: None)
        with told():
            hosts = self.hosts.left
            return {host.node.address: host.ahead("wall_clock", time.time) for host in hosts}

    def bandwidth(self) -> float | None:
        """Return what the network gives between two of the hosts."""
        two = self.hosts.left[:2]
        with suppress(WorkersLost):
            link = _link(*two) if len(two) > 1 else None
            return link and link.bandwidth
        return None

    def execute(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        """Run the processes of a request until something ends them."""
        left = self._left()
        needed = 1 + max(role.host for role in request.roles)
        if needed > len(left):
            reason = TooFewHosts(needed=needed, left=len(left))
            return RunResult(outcome=Outcome.CRASHED, reason=reason)
        group = RemoteGroup([left[role.host] for role in request.roles], request, folder, task)
        result = TrialRun(request, group, watch).run()
        lost = group.lost
        if lost is None or result.outcome in (Outcome.MEASURED, Outcome.PRUNED):
            return result
        # What the other processes said of it may have come first.
        outcome = Outcome.OUT_OF_MEMORY if lost.memory else Outcome.CRASHED
        return replace(result, outcome=outcome, reason=lost, detail="")

    def close(self) -> None:
        """End everything that this engine started; may be called twice."""
        self.hosts.close()

    def _left(self) -> list[RemoteHost]:
        """Return the hosts that can be used.

        Raises:
            EngineError: There are none.
        """
        self.hosts.take(lambda _: None)
        self.hosts.find_lost()
        self.hosts.renew()
        if not self.hosts.left:
            raise EngineError(
                "All machines of the Ray cluster were lost.",
                "Start them again (`ray start`); --resume goes on with the search.",
            )
        return self.hosts.left

    @contextmanager
    def _interruptible(self, hosts: Sequence[RemoteHost]) -> Iterator[None]:
        """End the agents where the user interrupts a call that they cannot leave."""
        try:
            yield
        except KeyboardInterrupt:
            for host in hosts:
                host.lose()
            raise


def _address(url: str) -> str:
    """Return what Ray is told.

    Raises:
        UsageError: The URL is not one of a cluster.
    """
    address = url.removeprefix(SCHEME) or os.environ.get(_ADDRESS) or "auto"
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdecimal() and "/" not in host):
        raise UsageError(
            f"{address!r} is not the address of a Ray cluster.",
            f"Write {SCHEME}HOST:PORT, or set {_ADDRESS}=HOST:PORT, as `ray start --address` "
            "takes it; not the port of Ray's client.",
        )
    return address


def _same(asked: Mapping[RemoteHost, Future[WorkloadFacts]], seconds: float) -> WorkloadFacts:
    """Return what the factories give on all hosts.

    Raises:
        WorkloadError: They fail, or do not give the same everywhere.
    """
    found, failed = {}, {}
    for host, call in asked.items():
        try:
            found.update(answers({host: call}, seconds))
        except WorkloadError as exc:
            failed[host] = exc
    if not found:
        raise next(iter(failed.values()))
    first = next(iter(found))
    for host, error in failed.items():
        raise type(error)(
            f"On machine {host.node}, not on {first.node}: {error.cause}",
            f"{error.next_step} {_EVERYWHERE}",
        ) from error
    for name, words in _SAME.items():
        _check_same(name, words, found)
    return min(found.values(), key=lambda facts: len(facts.uncertain))


def _check_same(name: str, words: str, found: Mapping[RemoteHost, WorkloadFacts]) -> None:
    """Raise FactoryFailed if hosts are certain of a fact and differ in it."""
    told = {host: facts.certain(name) for host, facts in found.items()}
    certain = {host: fact for host, fact in told.items() if fact is not None}
    first = next(iter(certain), None)
    for host, fact in certain.items():
        if first and fact != certain[first]:
            raise FactoryFailed(
                f"The factories do not give the same on machine {host.node} and on {first.node}: "
                f"{words} {fact} and {certain[first]}.",
                _EVERYWHERE,
            )


def _link(here: RemoteHost, there: RemoteHost) -> Link | None:
    """Return what the network gives from one host to another; None if it is not reached.

    Raises:
        WorkersLost: A host is gone.
    """
    port = answers({there: there.ask("answer", _LINK_SECONDS)})[there]
    call: Future[Link | None] = here.ask("reach", there.node.address, port)
    return answers({here: call}, _LINK_SECONDS)[here]


def _together(loads: Sequence[Load]) -> Load:
    """Return the load of several hosts."""
    return Load(
        seconds=max(each.seconds for each in loads),
        cores=sum(each.cores for each in loads),
        busy=sum(each.busy for each in loads),
        stolen=sum(each.stolen for each in loads),
        busiest=max(loads, key=lambda each: each.busy).busiest,
    )
