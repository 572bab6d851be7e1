"""The engine that runs trials on the hosts of a Ray cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from itertools import permutations
from typing import Self

from autotune.engine.base import A, HostTask, RunResult, Watch
from autotune.engine.bridge import Node
from autotune.engine.folder import TrialFolder
from autotune.engine.group import Exit, MemoryUse, Report, WorkerGroup
from autotune.engine.load import Load
from autotune.engine.local import ProcessEngine
from autotune.engine.lock import Notify
from autotune.engine.ray_agent import PIECE, Link, News, Order
from autotune.engine.ray_hosts import (
    SILENCE_SECONDS,
    Hosts,
    RemoteHost,
    answer,
    answers,
    bring,
    loss_as_engine_error,
)
from autotune.engine.reasons import WorkersLost
from autotune.engine.tasks.inspect import EVERYWHERE
from autotune.engine.tasks.train import TrialRequest
from autotune.engine.trial_run import TrialRun
from autotune.errors import EngineError, UsageError, WorkloadError
from autotune.installed import check_installed
from autotune.reason import HostLost, Outcome, TooFewHosts

SCHEME = "ray://"
_ADDRESS = "RAY_ADDRESS"
_LINK_SECONDS = 10.0
_STEPS = 10
"""Steps of a task, two attempts and its start, at most; each has the same limit."""
_POLL_SECONDS = 0.2
"""After which an agent answers that there is nothing new."""
_BEGIN_SECONDS = 300.0
"""For an agent whose fork server has to import TensorFlow anew."""
_STACK_SECONDS = 2.0
_LATE_SECONDS = 0.5


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
        self.hosts.connect()
        return self

    @contextmanager
    def reserved(self, what: str, notify: Notify, seconds: float | None = None) -> Iterator[None]:
        """Wait until nobody else uses the hosts; they are kept until the engine is closed."""
        try:
            self.hosts.take(notify)
            self.hosts.reserve(what, notify, seconds)
        except BaseException:
            # Whoever gives up does not enter the engine, and so nobody else would close it.
            self.close()
            raise
        yield

    def load(self) -> Load | None:
        # The loss of a host is told by the next trial, which needs it.
        loads = [load for load in self.hosts.ask_left("load") if load]
        return _together(loads) if loads else None

    def lost_hosts(self) -> tuple[str, ...]:
        """Return which hosts were lost, after those got new agents that can have one."""
        self.hosts.renew()
        return self.hosts.lost

    def on_hosts(self, task: HostTask[A]) -> A:
        """Do a task on every host; the answer has to be the same everywhere."""
        hosts = self.hosts.take()
        try:
            with loss_as_engine_error():
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
        hosts = self.hosts.take()
        with loss_as_engine_error():
            return {
                (here.node.address, there.node.address): _link(here, there)
                for here, there in permutations(hosts, 2)
            }

    def bandwidth(self) -> float | None:
        two = self.hosts.left[:2]
        with suppress(WorkersLost):
            link = _link(*two) if len(two) > 1 else None
            return link and link.bandwidth
        return None

    def run_trial(
        self, trial: TrialRequest, watch: Watch, folder: TrialFolder, code: str
    ) -> RunResult:
        left = self._left()
        needed = 1 + max(role.host for role in trial.roles)
        if needed > len(left):
            reason = TooFewHosts(needed=needed, left=len(left))
            return RunResult(outcome=Outcome.CRASHED, reason=reason)
        group = RemoteGroup([left[role.host] for role in trial.roles], trial, folder, code)
        result = TrialRun(trial.roles, trial.limits, group, watch).run()
        lost = group.lost
        if lost is None or result.outcome in (Outcome.MEASURED, Outcome.PRUNED):
            return result
        # What the other processes said of it may have come first.
        outcome = Outcome.OUT_OF_MEMORY if lost.memory else Outcome.CRASHED
        return result.model_copy(update={"outcome": outcome, "reason": lost, "detail": ""})

    def close(self) -> None:
        self.hosts.close()

    def _left(self) -> list[RemoteHost]:
        self.hosts.take()
        # Those that are gone are struck off here, so that nothing which is begun is ended by that.
        self.hosts.ask_left("clock")
        self.hosts.renew()
        if not self.hosts.left:
            raise EngineError(
                "All machines of the Ray cluster were lost.",
                "Start them again (`ray start`); --resume goes on with the search.",
            )
        return self.hosts.left


class RemoteGroup(WorkerGroup):
    """Worker processes on several hosts, each process on the one of its position."""

    def __init__(
        self, hosts: Sequence[RemoteHost], request: TrialRequest, folder: TrialFolder, code: str
    ) -> None:
        self._of = hosts
        self._hosts = [*dict.fromkeys(hosts)]
        self._request = request
        self._folder = folder
        self._code = code
        self._ahead: dict[RemoteHost, float] = {}
        """Seconds that the clock of each is ahead of ours."""
        self._polls: dict[RemoteHost, tuple[Future[News], float]] = {}
        self._exits: dict[int, Exit] = {}
        self._uses: dict[RemoteHost, MemoryUse] = {}

    @property
    def lost(self) -> HostLost | None:
        """The loss of the first of its hosts that was lost."""
        return next((host.lost for host in self._hosts if host.lost), None)

    def start(self) -> None:
        """Start all processes, on ports that are held until the end."""
        bring(self._request.workload, self._hosts)
        self._ahead = {host: host.ahead() for host in self._hosts}
        addresses = self._addresses()
        files = {name: path.read_bytes() for name, path in self._folder.given().items()}
        roles, memory = self._request.roles, self._request.limits.memory
        calls = {}
        for host in self._hosts:
            members = [i for i, each in enumerate(self._of) if each is host]
            order = Order(self._code, files, roles, addresses, members, memory)
            calls[host] = host.ask("begin", order)
        for refused in answers(calls, _BEGIN_SECONDS).values():
            if refused:
                raise WorkersLost(refused)

    def listen(self, seconds: float) -> list[Report]:
        for host in self._hosts:
            if host not in self._polls:
                self._polls[host] = host.ask("poll", _POLL_SECONDS), time.monotonic()
        wait([call for call, _ in self._polls.values()], seconds, FIRST_COMPLETED)
        reports = [report for host in self._hosts for report in self._heard(host)]
        return sorted(reports, key=lambda report: report.event["at"])

    def exits(self) -> Mapping[int, Exit]:
        return self._exits

    def memory(self) -> MemoryUse:
        """Return what the processes hold, of all hosts or of one on which it is too much."""
        uses = self._uses.values()
        return next(
            (each for each in uses if each.exceeded),
            MemoryUse(sum(u.peak for u in uses), sum(u.limit for u in uses), exceeded=False),
        )

    def last_words(self, member: int, *, stack: bool = False) -> str:
        host = self._of[member]
        call: Future[str] = host.ask("last_words", member, stack)
        wait([call], _STACK_SECONDS)
        failed = not call.done() or call.exception() is not None
        return "" if failed else call.result()

    def end(self) -> None:
        calls = {host: host.ask("end") for host in self._hosts if host.lost is None}
        for host, call in calls.items():
            try:
                files: dict[str, int] = answers({host: call})[host]
                for name in files.keys() - self._folder.given().keys():
                    self._bring_home(host, name, files[name])
                host.ask("forget")
            except WorkersLost:
                continue  # It was struck off, and that is the reason of the run's end.

    def _addresses(self) -> list[str]:
        """Return where each process is to listen; nowhere if there is only one."""
        if len(self._request.roles) == 1:
            return [""]
        asked = {host: host.ask("hold", self._of.count(host)) for host in self._hosts}
        ports = {host: iter(held) for host, held in answers(asked).items()}
        return [f"{host.node.address}:{next(ports[host])}" for host in self._of]

    def _heard(self, host: RemoteHost) -> list[Report]:
        call, asked = self._polls[host]
        if not call.done():
            if time.monotonic() - asked <= SILENCE_SECONDS:
                return []
            # Where it was the tuner that stood still, the answer is on its way.
            wait([call], _LATE_SECONDS)
            if not call.done():
                raise host.lose(silent=SILENCE_SECONDS)
        del self._polls[host]
        news = answer(host, call)
        if news.lost:
            raise WorkersLost(news.lost)
        self._exits.update(news.exits)
        self._uses[host] = news.memory
        return [
            Report(member, {**event, "at": event["at"] - self._ahead[host]})
            for member, event in news.reports
        ]

    def _bring_home(self, host: RemoteHost, name: str, size: int) -> None:
        with (self._folder.path / name).open("wb") as file:
            for offset in range(0, size, PIECE):
                file.write(host.call("take", name, offset))


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


def _together(loads: Sequence[Load]) -> Load:
    return Load(
        seconds=max(each.seconds for each in loads),
        cores=sum(each.cores for each in loads),
        busy=sum(each.busy for each in loads),
        stolen=sum(each.stolen for each in loads),
        busiest=max(loads, key=lambda each: each.busy).busiest,
    )
