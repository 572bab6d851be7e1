"""The engine that runs trials on the hosts of a Ray cluster."""

import os
import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from itertools import permutations
from typing import Any, Self

from autotune.engine.base import A, HostTask, RunResult, Watch
from autotune.engine.events import TrialFolder
from autotune.engine.load import Load
from autotune.engine.local import ProcessEngine
from autotune.engine.lock import REMIND_SECONDS, Notify, Wait, wait_for
from autotune.engine.ray_agent import Link
from autotune.engine.ray_hosts import BridgeClient, Node, RemoteGroup, RemoteHost, answers, bring
from autotune.engine.tasks import EVERYWHERE, DevicesRequest, TrialRequest
from autotune.engine.trial_run import TrialRun, WorkersLost
from autotune.errors import EngineError, UsageError, WorkloadError
from autotune.reason import Outcome, TooFewHosts
from autotune.reason.sentences import reason_text
from autotune.versions import VERSION, check_installed

SCHEME = "ray://"
_ADDRESS = "RAY_ADDRESS"
_LINK_SECONDS = 10.0
_STEPS = 10
"""Steps of a task, two attempts and its start, at most; each has the same limit."""
_IMPORT_SECONDS = 300.0
"""For an agent's first task, which waits until TensorFlow is imported."""
_NOTICE_SECONDS = 10.0
"""That a host may take for an agent before the user is notified."""
_AGENTS = 3
"""That a host gets one after the other, where only they are lost."""
_RETURN_SECONDS = 90.0
"""For an agent in place of one that has ended."""


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
        self._address = _address(url)
        self._bridge: BridgeClient | None = None
        self._hosts: list[RemoteHost] = []
        """Those of the cluster that are used, lost ones too, in the order of their addresses."""
        self._claim: tuple[Any, ...] = ()
        """What agents reserve their hosts with: the name and the budget of the search."""

    def __enter__(self) -> Self:
        self._connect()
        return self

    @contextmanager
    def reserved(self, what: str, notify: Notify, seconds: float | None = None) -> Iterator[None]:
        """Wait until no other job uses the hosts; they are kept until the engine is closed."""
        try:
            self._take(notify)
            # Agents of one search share a machine; one of another with the same name does not.
            mine = f"{what}, called on {socket.gethostname()} by process {os.getpid()}"
            self._claim = mine, seconds
            wait_for(self._busy, notify)
        except BaseException:
            # An engine whose wait was given up is not entered, so nothing else would close it.
            self.close()
            raise
        yield

    @property
    def left(self) -> list[RemoteHost]:
        """The hosts that were not lost."""
        return [host for host in self._hosts if host.lost is None]

    def load(self) -> Load | None:
        # The loss of a host is told by the next trial, which needs it.
        loads: list[Load] = [load for load in self._ask_left("load") if load]
        if not loads:
            return None
        return Load(
            seconds=max(each.seconds for each in loads),
            cores=sum(each.cores for each in loads),
            busy=sum(each.busy for each in loads),
            stolen=sum(each.stolen for each in loads),
            busiest=max(loads, key=lambda each: each.busy).busiest,
        )

    def lost_hosts(self) -> tuple[str, ...]:
        """Return which hosts were lost, after those got new agents that can have one."""
        self._renew()
        return tuple(str(host.node) for host in self._hosts if host.lost)

    def on_hosts(self, task: HostTask[A]) -> A:
        """Do a task on every host; the answer has to be the same everywhere."""
        hosts = self._take()
        try:
            with _loss_as_engine_error():
                if task.workload is not None:
                    bring(task.workload, hosts)
                asked = {host: host.ask("execute", task) for host in hosts}
                return task.together(_answered(asked, _STEPS * task.limits.window))
        except KeyboardInterrupt:
            for host in hosts:
                host.lose()  # Its agent cannot leave the call.
            raise

    def links(self) -> dict[tuple[str, str], Link | None]:
        """Return what the network gives from each host to each other one, by their addresses.

        None stands for a host that is not reached.
        """
        hosts = self._take()
        with _loss_as_engine_error():
            return {
                (here.node.address, there.node.address): _link(here, there)
                for here, there in permutations(hosts, 2)
            }

    def bandwidth(self) -> float | None:
        two = self.left[:2]
        with suppress(WorkersLost):
            link = _link(*two) if len(two) > 1 else None
            return link and link.bandwidth
        return None

    def run_trial(self, trial: TrialRequest, watch: Watch, folder: TrialFolder) -> RunResult:
        self._take()
        # Those that are gone are struck off here, so that nothing which is begun is ended by that.
        self._ask_left("clock")
        self._renew()
        left = self.left
        if not left:
            raise EngineError(
                "All machines of the Ray cluster were lost.",
                "Start them again (`ray start`); --resume goes on with the search.",
            )
        needed = 1 + max(role.host for role in trial.roles)
        if needed > len(left):
            reason = TooFewHosts(needed=needed, left=len(left))
            return RunResult(outcome=Outcome.CRASHED, reason=reason)
        group = RemoteGroup([left[role.host] for role in trial.roles], trial, folder)
        result = TrialRun(trial.roles, trial.limits, group, watch).run()
        lost = group.lost
        if lost is None or result.outcome in (Outcome.MEASURED, Outcome.PRUNED):
            return result
        # What the other processes said of it may have come first.
        outcome = Outcome.OUT_OF_MEMORY if lost.memory else Outcome.CRASHED
        return result.model_copy(update={"outcome": outcome, "reason": lost, "detail": ""})

    def close(self) -> None:
        if self._bridge is not None:
            self._bridge.close()
        self._hosts = []

    def _connect(self) -> BridgeClient:
        self._bridge = self._bridge or BridgeClient(self._address)
        return self._bridge

    def _take(self, notify: Notify = lambda _: None) -> list[RemoteHost]:
        """Start an agent on each host once no other job uses it; return the hosts that are left."""
        if self._hosts:
            return self.left
        bridge = self._connect()
        nodes = sorted(bridge.nodes(), key=lambda node: (node.address, node.key))
        if not nodes:
            raise EngineError(
                "No machine of the Ray cluster has a core to use.",
                "Start one with `ray start --address=... --num-cpus=...`.",
            )
        found = [RemoteHost(bridge, node) for node in nodes]
        # The first one before the others: of two searches, one gets it and the other waits.
        _place(found[:1], notify)
        _place(found[1:], notify)
        self._hosts = found
        _report_shared(found, notify)
        return found

    def _busy(self) -> Wait | None:
        """Reserve one host after the other; return the wait for the first that is not free.

        Each is asked once the one before it is had: of two searches one gets all, and agents of one
        search that share a machine find its name on the claim of the first.
        """
        with _loss_as_engine_error():
            for host in self.left:
                wait: Wait | None = host.call("reserve", *self._claim)
                if wait is not None:
                    return wait.model_copy(update={"host": str(host.node)})
        return None

    def _ask_left(self, method: str) -> list[Any]:
        """Return the answers of the hosts that are left; strike off those that are gone."""
        asked = {host: host.ask(method) for host in self.left}
        found: list[Any] = []
        for host, call in asked.items():
            with suppress(WorkersLost):
                found += answers({host: call}).values()
        return found

    def _renew(self) -> None:
        """Start new agents where only an agent was lost, and not its host."""
        for host in self._hosts:
            if host.lost and host.lost.silent is None and host.agents < _AGENTS:
                host.place()
                with suppress(WorkersLost):
                    # It may take longer than a silence.
                    wait([host.ask("clock")], _RETURN_SECONDS)
                    host.call("execute", DevicesRequest(), seconds=_IMPORT_SECONDS)
                    if self._claim:
                        host.ask("reserve", *self._claim)


def _address(url: str) -> str:
    address = url.removeprefix(SCHEME) or os.environ.get(_ADDRESS) or "auto"
    host, _, port = address.rpartition(":")
    if address != "auto" and not (host and port.isdecimal() and "/" not in host):
        raise UsageError(
            f"{address!r} is not the address of a Ray cluster.",
            f"Write {SCHEME}HOST:PORT, or set {_ADDRESS}=HOST:PORT, as `ray start --address` "
            "takes it; not the port of Ray's client.",
        )
    return address


def _answered(asked: Mapping[RemoteHost, Future[A]], seconds: float) -> dict[Node, A]:
    """Return what all hosts have found; raise what some have found wrong with the workload."""
    found: dict[Node, A] = {}
    failed: dict[RemoteHost, WorkloadError] = {}
    for host, call in asked.items():
        try:
            found[host.node] = answers({host: call}, seconds)[host]
        except WorkloadError as exc:
            failed[host] = exc
    if not found:
        raise next(iter(failed.values()))
    for host, error in failed.items():
        raise type(error)(
            f"On machine {host.node}, not on {next(iter(found))}: {error.cause}",
            f"{error.next_step} {EVERYWHERE}",
        ) from error
    return found


def _link(here: RemoteHost, there: RemoteHost) -> Link | None:
    """Return what the network gives from one host to another; None if it is not reached."""
    port = there.call("answer", _LINK_SECONDS)
    found: Link | None = here.call("reach", there.node.address, port, seconds=_LINK_SECONDS)
    return found


def _place(hosts: Sequence[RemoteHost], notify: Notify) -> None:
    """Wait until hosts have an agent; notify of those that another job uses."""
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


def _report_shared(hosts: Sequence[RemoteHost], notify: Notify) -> None:
    """Notify of hosts that are one machine, as containers and namespaces are."""
    machines = defaultdict(list)
    for host in hosts:
        machines[host.boot].append(host.node.address)
    for same in machines.values():
        if len(same) > 1:
            notify(
                f"{', '.join(same)} are one machine: its cores and memory are counted "
                f"{len(same)} times. Workers on machines of their own would gain more."
            )


@contextmanager
def _loss_as_engine_error() -> Iterator[None]:
    try:
        yield
    except WorkersLost as exc:
        raise EngineError(
            reason_text(exc.reason), "Start it again, or take it out of the cluster (`ray stop`)."
        ) from exc


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
