"""The worker processes of one run, each on the host of its role."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from autotune.engine.folder import TrialFolder
from autotune.engine.group import Exit, MemoryUse, Report, WorkerGroup
from autotune.engine.ray_agent import PIECE, News, Order
from autotune.engine.ray_hosts import SILENCE_SECONDS, RemoteHost, answer, answers, bring
from autotune.engine.reasons import WorkersLost
from autotune.engine.tasks.train import TrialRequest
from autotune.engine.user_code import code_of
from autotune.reason import HostLost

_POLL_SECONDS = 0.2
"""After which an agent answers that there is nothing new."""
_BEGIN_SECONDS = 300.0
"""For an agent whose fork server has to import TensorFlow anew."""
_STACK_SECONDS = 2.0
_LATE_SECONDS = 0.5


class RemoteGroup(WorkerGroup):
    """Worker processes on several hosts."""

    def __init__(
        self, hosts: Sequence[RemoteHost], request: TrialRequest, folder: TrialFolder, code: str
    ) -> None:
        self._of = hosts
        self._hosts = [*dict.fromkeys(hosts)]
        self._request = request
        self._folder = folder
        self._code = code
        self._polls: dict[RemoteHost, tuple[Future[News], float]] = {}
        self._exits: dict[int, Exit] = {}
        self._uses: dict[RemoteHost, MemoryUse] = {}

    @property
    def lost(self) -> HostLost | None:
        """The loss of the first of its hosts that was lost."""
        return next((host.lost for host in self._hosts if host.lost), None)

    def start(self) -> None:
        """Start all processes, on ports that are held until the end."""
        bring(code_of(self._request.workload), self._hosts)
        for host in self._hosts:
            host.compare_clocks()
        addresses = self._addresses()
        files = {name: path.read_bytes() for name, path in self._folder.given().items()}
        calls = {}
        for host in self._hosts:
            order = Order(
                code=self._code,
                files=files,
                roles=self._request.roles,
                addresses=addresses,
                members=[i for i, each in enumerate(self._of) if each is host],
                memory=self._request.limits.memory,
            )
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

    def read(self) -> list[Report]:
        """Return nothing: a process's end is reported together with its last reports."""
        return []

    def exits(self) -> Mapping[int, Exit]:
        return self._exits

    def memory(self) -> MemoryUse:
        """Return what the processes hold, of all hosts or of one on which it is too much."""
        uses = self._uses.values()
        return next(
            (each for each in uses if each.exceeded),
            MemoryUse(sum(u.peak for u in uses), sum(u.limit for u in uses), exceeded=False),
        )

    def last_words(self, member: int) -> str:
        return self._text("last_words", member)

    def stack(self, member: int) -> str:
        return self._text("stack", member)

    def end(self) -> None:
        calls = {host: host.ask("end") for host in self._hosts if host.lost is None}
        for host, call in calls.items():
            try:
                left: dict[str, int] = answers({host: call})[host]
                for name, size in left.items():
                    self._bring_home(host, name, size)
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
            Report(member, {**event, "at": host.here(event["at"])})
            for member, event in news.reports
        ]

    def _text(self, method: str, member: int) -> str:
        host = self._of[member]
        call: Future[str] = host.ask(method, member)
        wait([call], _STACK_SECONDS)
        failed = not call.done() or call.exception() is not None
        return "" if failed else call.result()

    def _bring_home(self, host: RemoteHost, name: str, size: int) -> None:
        with (self._folder.path / name).open("wb") as file:
            for offset in range(0, size, PIECE):
                file.write(answers({host: host.ask("take", name, offset)})[host])
