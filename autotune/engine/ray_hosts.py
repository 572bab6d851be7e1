"""The hosts of a cluster: the connection to it, an agent on each host, and workers on several."""

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from autotune.engine.events import TrialFolder
from autotune.engine.fork_client import Helper
from autotune.engine.ray_agent import PIECE, Code, News, Order, code_of
from autotune.engine.tasks import TrialRequest
from autotune.engine.trial_run import Exit, MemoryUse, Report, WorkerGroup, WorkersLost
from autotune.errors import AutotuneError, EngineError
from autotune.reason import HostLost
from autotune.workload import Workload

_CONNECT_SECONDS = 60.0
_LEAVE_SECONDS = 10.0


class Node(NamedTuple):
    key: str
    name: str
    address: str
    """By which the other nodes reach it."""
    cpus: float
    gpus: float

    def __str__(self) -> str:
        return f"{self.name} ({self.address})"


class Call(NamedTuple):
    number: int
    agent: str
    """The key of its node; empty for the bridge itself."""
    method: str
    arguments: tuple[Any, ...]


class Answer(NamedTuple):
    number: int
    value: Any = None
    error: BaseException | None = None


class Gone(Exception):
    """An agent, or the connection, is gone; `memory` where it was ended for want of it."""

    def __init__(self, why: str, *, memory: bool = False) -> None:
        super().__init__(why)
        self.memory = memory


class BridgeClient(Helper):
    """Starts the bridge, at once and without waiting for it, and hands it calls.

    Args:
        address: `host:port` of the cluster, or `auto` for the one that this machine is part of.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._calls: dict[int, Future[Any]] = {0: Future()}
        self._connected = self._calls[0]
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        variables = {"RAY_USAGE_STATS_ENABLED": "0"}
        super().__init__("autotune.engine.ray_bridge", address, environment=variables)
        threading.Thread(target=self._receive, daemon=True).start()

    def nodes(self) -> list[Node]:
        """Return the nodes that the cluster had when it was connected to."""
        try:
            found: list[Node] = self._connected.result(_CONNECT_SECONDS)
        except (Gone, RuntimeError, TimeoutError) as exc:
            raise self._refused(exc) from exc
        return found

    def ask(self, agent: str, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of an agent, or of the bridge itself where none is named."""
        future: Future[Any] = Future()
        with self._sending:
            number = next(self._numbers)
            self._calls[number] = future
            try:
                self.channel.send(Call(number, agent, method, arguments))
            except OSError:
                self._calls.pop(number, None)
                future.set_exception(Gone("the connection to the cluster has ended"))
        return future

    def close(self) -> None:
        """End the connection, and with it the agents; may be called twice."""
        # The other thread is reading from it, so it is left to the bridge to close it.
        with self._sending, suppress(OSError):
            self.channel.send(None)
        self.wait(_LEAVE_SECONDS)

    def _receive(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                answer: Answer = self.channel.recv()
                future = self._calls.pop(answer.number)
                if answer.error is None:
                    future.set_result(answer.value)
                else:
                    future.set_exception(answer.error)
        with self._sending:
            self.channel.close()
            left, self._calls = self._calls, {}
        for each in left.values():
            each.set_exception(Gone("the connection to the cluster has ended"))

    def _refused(self, error: Exception) -> EngineError:
        said = str(error) or self.last_words()
        first = next(iter(said.splitlines()), "no answer").rstrip(".")
        where = "this machine is part of" if self._address == "auto" else f"at {self._address}"
        return EngineError(
            f"The Ray cluster {where} refused or did not answer: {first}.",
            "Run autotune on a machine of the cluster (`ray start --address=...`), and check the "
            "address and the token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH).",
        )


T = TypeVar("T")
SILENCE_SECONDS = 5.0
"""Without an answer, after which a host counts as lost. Ray itself needs a minute."""
_BRING_SECONDS = 60.0
_BEGIN_SECONDS = 300.0
"""For an agent whose fork server has to import TensorFlow anew."""
_POLL_SECONDS = 0.2
"""After which an agent answers that there is nothing new."""
_LATE_SECONDS = 0.5
_STACK_SECONDS = 2.0
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
        """Begin to start an agent, which waits until no other job uses the host."""
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


class RemoteGroup(WorkerGroup):
    """Worker processes on several hosts, each process on the one of its position."""

    def __init__(
        self, hosts: Sequence[RemoteHost], request: TrialRequest, folder: TrialFolder
    ) -> None:
        self._of = hosts
        self._hosts = [*dict.fromkeys(hosts)]
        self._request = request
        self._folder = folder
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
            order = Order(files, roles, addresses, members, memory)
            calls[host] = host.ask("begin", order)
        for refused in answers(calls, _BEGIN_SECONDS).values():
            if refused:
                raise WorkersLost(refused)

    def listen(self, seconds: float) -> list[Report]:
        for host in self._hosts:
            if host not in self._polls:
                self._polls[host] = host.ask("poll", _POLL_SECONDS), time.monotonic()
        wait([call for call, _ in self._polls.values()], seconds, FIRST_COMPLETED)
        return [report for host in self._hosts for report in self._heard(host)]

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
        call: Future[str] = self._of[member].ask("last_words", member, stack)
        with suppress(Exception):  # It does not answer in time, or its agent has failed.
            return call.result(_STACK_SECONDS)
        return ""

    def end(self) -> None:
        calls = {host: host.ask("end") for host in self._hosts if host.lost is None}
        for host, call in calls.items():
            # A lost host was struck off, and its loss is the reason of the run's end.
            with suppress(WorkersLost):
                files: dict[str, int] = answers({host: call})[host]
                for name in files.keys() - self._folder.given().keys():
                    with (self._folder.path / name).open("wb") as file:
                        for offset in range(0, files[name], PIECE):
                            file.write(host.call("take", name, offset))
                host.ask("forget")

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
