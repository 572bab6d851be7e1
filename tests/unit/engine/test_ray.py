"""A run on several hosts as the tuner sees it, with agents that do as they are told."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from autotune.engine import events, ray, ray_agent, ray_hosts as hosts
from autotune.engine.events import TrialFolder
from autotune.engine.load import Load
from autotune.engine.lock import Holder, Wait
from autotune.engine.ray import RayEngine
from autotune.engine.ray_agent import Agent, Code, News, Order, code_of, install
from autotune.engine.ray_hosts import Gone, Node, RemoteGroup, RemoteHost
from autotune.engine.tasks import InspectionRequest, TrialRequest
from autotune.engine.trial_run import MemoryUse, Report, TrialRun, WorkersLost
from autotune.errors import EngineError, FactoryFailed, UsageError
from autotune.machine import held_ports
from autotune.reason import Exited, HostLost, Outcome, PlainReason, Reason, ReasonKind, TooFewHosts
from autotune.strategies import Role
from autotune.versions import VERSION
from autotune.workload import Factory, Workload, WorkloadFacts
from tests.engines.fake import FAKE_FACTS, fake_machine
from tests.trials import request_for

TWO = (Role(), Role(index=1, host=1))
Say = Callable[..., Any]
WorkersOf = Callable[["Agents"], RemoteGroup]


class Agents:
    """Stands in for the bridge: answers calls to agents at once, or never.

    Args:
        says: What a method gives, by its name; called with the node's key and the arguments.
    """

    def __init__(self, **says: Say) -> None:
        self.says: dict[str, Say] = {
            "clock": lambda _: time.monotonic(),
            "begin": lambda *_: None,
            "hold": lambda key, count: [7000 + int(key)] * count,
            "end": lambda _: {},
            "poll": lambda *_: News(),
            **says,
        }
        self.calls: list[tuple[str, str, tuple[Any, ...]]] = []

    def ask(self, agent: str, method: str, *arguments: Any) -> Future[Any]:
        self.calls.append((agent, method, arguments))
        future: Future[Any] = Future()
        found = self.says.get(method, lambda *_: None)(agent, *arguments)
        if isinstance(found, Future):
            return found
        if isinstance(found, BaseException):
            future.set_exception(found)
        elif found is not ...:
            future.set_result(found)
        return future

    def asked(self, method: str) -> list[tuple[str, tuple[Any, ...]]]:
        return [(agent, arguments) for agent, each, arguments in self.calls if each == method]


def remote_hosts(agents: Agents) -> list[RemoteHost]:
    nodes = [Node(str(i), f"host{i}", f"10.0.0.{i}", 2, 0) for i in range(2)]
    return [RemoteHost(agents, node) for node in nodes]


@pytest.fixture
def request_of_two(tmp_path: Path) -> TrialRequest:
    return request_for("fit", tmp_path / "run", roles=TWO)


@pytest.fixture
def workers_of(request_of_two: TrialRequest) -> WorkersOf:
    """Return a function that gives the workers of a run on the hosts of some agents."""
    given = TrialFolder(request_of_two.folder).create()
    given.script.write_text("")
    given.request.write_text("{}")
    return lambda agents: RemoteGroup(remote_hosts(agents), request_of_two, given)


def test_workers_are_told_the_addresses_of_their_hosts(workers_of: WorkersOf) -> None:
    """Each agent holds a port, learns those of all, and starts what is its own."""
    agents = Agents()
    workers_of(agents).start()
    orders: list[Order] = [arguments[0] for _, arguments in agents.asked("begin")]
    assert [each.addresses for each in orders] == [["10.0.0.0:7000", "10.0.0.1:7001"]] * 2
    assert [each.members for each in orders] == [[0], [1]]
    assert set(orders[0].files) == {"train.py", "request.json"}


def test_a_silent_host_is_lost_and_the_others_are_ended(
    workers_of: WorkersOf, request_of_two: TrialRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that does not answer for so long is named, and every other one is told to end."""
    monkeypatch.setattr(hosts, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(hosts, "_LATE_SECONDS", 0.01)
    agents = Agents(poll=lambda key, _: ... if key == "1" else News())
    result = TrialRun(TWO, request_of_two.limits, workers_of(agents)).run()
    lost = HostLost(host="host1 (10.0.0.1)", silent=0.05)
    assert (result.outcome, result.reason) == (Outcome.CRASHED, lost)
    assert agents.asked("end") == [("0", ())]
    assert agents.asked("drop") == [("", ("1",))]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Gone("The actor died."), HostLost(host="host0 (10.0.0.0)")),
        (News(lost=PlainReason(kind=ReasonKind.ORPHANED)), PlainReason(kind=ReasonKind.ORPHANED)),
    ],
    ids=["agent", "fork server"],
)
def test_the_loss_of_an_agent_is_that_of_a_host(
    workers_of: WorkersOf, said: object, reason: Reason
) -> None:
    """It is known at once; in place of a fork server the agent starts another for the next run."""
    workers = workers_of(Agents(poll=lambda *_: said))
    with pytest.raises(WorkersLost) as caught:
        workers.listen(0.01)
    assert caught.value.reason == reason
    assert workers.lost == (reason if isinstance(reason, HostLost) else None)


def test_times_are_those_of_the_tuner(workers_of: WorkersOf) -> None:
    """A host's clock may be far ahead; what it reports is dated as if it were the tuner's."""
    report = Report(0, {"event": events.STARTED, "at": time.monotonic() + 5000})
    ahead = Agents(
        clock=lambda _: time.monotonic() + 5000, poll=lambda *_: News([report], {0: Exited(code=3)})
    )
    workers = workers_of(ahead)
    begun = time.monotonic()
    workers.start()
    (first, *_) = workers.listen(0.01)
    assert begun - 1 < first.event["at"] < time.monotonic() + 1
    assert workers.exits() == {0: Exited(code=3)}


def test_memory_is_that_of_the_host_where_it_is_too_much(workers_of: WorkersOf) -> None:
    """Together it is the sum; what exceeds its host's limit is told with that limit."""
    uses = {"0": MemoryUse(10, 100, exceeded=False), "1": MemoryUse(20, 50, exceeded=False)}
    workers = workers_of(Agents(poll=lambda key, _: News(memory=uses[key])))
    workers.listen(0.01)
    assert workers.memory() == MemoryUse(30, 150, exceeded=False)
    uses["1"] = MemoryUse(60, 50, exceeded=True)
    workers.listen(0.01)
    assert workers.memory() == uses["1"]


def test_what_processes_leave_is_brought_home_in_pieces(
    workers_of: WorkersOf, request_of_two: TrialRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "PIECE", 4)
    left = {"output-0.txt": b"all that it printed", "answer-0.json": b"{}"}
    agents = Agents(
        end=lambda key: {name: len(text) for name, text in left.items() if key == "0"},
        take=lambda _, name, offset: left[name][offset : offset + 4],
    )
    workers_of(agents).end()
    assert {name: (request_of_two.folder / name).read_bytes() for name in left} == left


OTHER = r"host1 \(10.0.0.1\) runs {0} .*Install the same version of {0}"


@pytest.mark.parametrize("name", ["TensorFlow", "Python"])
def test_other_software_is_refused(name: str) -> None:
    """The error names the machine, both versions, and what to do, before any trial."""
    same = fake_machine()
    other = same.model_copy(update={name.lower(): "2.20.0"})
    engine = engine_of(Agents(execute=lambda key, _: other if key == "1" else same))
    with pytest.raises(EngineError, match=OTHER.format(name)):
        engine.machine()


def test_another_autotune_is_refused() -> None:
    """As soon as its agent runs."""
    agents = Agents(about=lambda key: ("0.0.1" if key == "1" else VERSION, "boot"))
    with pytest.raises(EngineError, match=OTHER.format("autotune")):
        ray._place(remote_hosts(agents), print)


def test_a_machine_has_all_hosts() -> None:
    machine = engine_of(Agents(execute=lambda *_: fake_machine(cpus=4))).machine()
    assert [host.name for host in machine.hosts] == ["10.0.0.0", "10.0.0.1"]
    assert machine.cpus == 8


def test_a_new_agent_may_take_longer_than_a_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose agent was killed is used again, however slowly the next one starts."""
    monkeypatch.setattr(hosts, "SILENCE_SECONDS", 0.05)
    late: Future[float] = Future()
    threading.Timer(0.3, late.set_result, [0.0]).start()
    engine = engine_of(Agents(clock=lambda _: late))
    engine.left[0].lose()
    assert len(engine.left) == 1
    assert engine.lost_hosts() == ()
    assert len(engine.left) == 2


def test_a_host_that_went_between_runs_ends_none(request_of_two: TrialRequest) -> None:
    """It is struck off before the next one begins, which is not blamed for it."""
    full = Gone("Full.", memory=True)
    says = dict.fromkeys(("clock", "execute"), lambda key, *_: full if key == "1" else 0.0)
    engine = engine_of(Agents(**says))
    result = engine.execute(request_of_two, lambda _: None)
    assert engine.lost_hosts() == ("host1 (10.0.0.1)",)
    assert result.reason == TooFewHosts(needed=2, left=1)


def test_a_host_that_went_does_not_end_a_look_at_the_load() -> None:
    """What others use is told of the hosts that are left; the next run tells of the loss."""
    load = Load(seconds=1.0, cores=2, busy=0.5, stolen=0.0)
    agents = Agents(load=lambda key: Gone("Ended.") if key == "1" else load)
    engine = engine_of(agents)
    assert engine.load() == load
    assert [host.node.name for host in engine.left] == ["host0"]
    agents.says["load"] = lambda _: Gone("Ended.")
    assert engine.load() is None


def test_hosts_wait_for_a_search_on_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is told on which machine and for whom, once, and it goes on when that has ended."""
    monkeypatch.setattr("autotune.engine.lock.POLL_SECONDS", 0.001)
    holder = Holder(pid=7, since=time.time(), what="theirs")
    busy = iter([Wait(holder=holder, until=2e9)] * 3)
    agents = Agents(reserve=lambda key, *_: next(busy, None) if key == "1" else None)
    notices: list[object] = []
    with engine_of(agents).reserved("digits", notices.append):
        pass
    assert notices == [Wait(holder=holder, until=2e9, host="host1 (10.0.0.1)")]
    assert "is running on host1 (10.0.0.1), until " in str(notices[0])
    assert len({arguments for _, arguments in agents.asked("reserve")}) == 1


def test_agents_that_share_a_machine_do_not_wait_for_each_other() -> None:
    """The second is asked once the first has its claim, which bears the name of the search."""
    claimed: Future[None] = Future()
    threading.Timer(0.05, claimed.set_result, [None]).start()
    agents = Agents(
        reserve=lambda key, *_: (
            claimed if key == "0" else None if claimed.done() else Wait(holder=None)
        )
    )
    notices: list[object] = []
    with engine_of(agents).reserved("digits", notices.append):
        pass
    assert notices == []


def test_a_clock_is_compared_by_the_quickest_call() -> None:
    far = Agents(clock=lambda _: time.monotonic() + 100)
    assert remote_hosts(far)[0].ahead() == pytest.approx(100, abs=0.5)


def engine_of(agents: Agents) -> RayEngine:
    engine = RayEngine("ray://10.0.0.0:6379")
    engine._hosts = remote_hosts(agents)
    return engine


@pytest.mark.parametrize("url", ["ray://head", "ray://head:port", "ray://http://head:6379"])
def test_an_address_without_a_port_is_refused(url: str) -> None:
    """Before anything is connected to."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    with pytest.raises(UsageError, match="ray://HOST:PORT"):
        RayEngine(url)


SHORT = {"examples": None, "uncertain": ("examples",)}
FEWER = {"examples": 9_984, "file_shards": 5, "uncertain": ("examples", "file_shards")}
INSPECTED = FAKE_FACTS.model_copy(update={"file_shards": 8})


@pytest.mark.parametrize("slow", [SHORT, FEWER])
@pytest.mark.parametrize("order", [1, -1])
def test_a_host_that_did_not_count_in_time_agrees(slow: dict[str, Any], order: int) -> None:
    """What the other one has counted is used, whichever was asked first."""
    facts = [INSPECTED, INSPECTED.model_copy(update=slow)][::order]
    assert inspected(*facts).examples == INSPECTED.examples


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"examples": 9_984}, "their number is 9984 and 10000"),
        ({"file_shards": 5, "examples": None}, "files to divide them by are 5 and 8"),
        ({"weights": 1, **SHORT}, "the model's weights are 1 and 7000"),
    ],
)
def test_hosts_with_other_data_are_refused(other: dict[str, Any], words: str) -> None:
    """A number that both have counted is another one."""
    with pytest.raises(FactoryFailed, match=words):
        inspected(INSPECTED, INSPECTED.model_copy(update=other))


def inspected(*facts: WorkloadFacts) -> WorkloadFacts:
    engine = engine_of(Agents(execute=lambda key, *_: facts[int(key)]))
    named = Factory(name="make", module="json")
    return engine.execute(InspectionRequest(Workload(model=named, dataset=named)))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Code:
    """The code of a workload whose factories stand in a file of the working folder."""
    home = tmp_path / "home"
    (home / ".venv").mkdir(parents=True)
    (home / "mine.py").write_text("A = 1")
    (home / ".venv" / "other.py").write_text("B = 1")
    monkeypatch.chdir(home)
    factory = Factory(name="f", module="mine", root=".")
    return code_of(Workload(model=factory, dataset=factory))


def test_code_is_used_where_it_stands(module: Code, tmp_path: Path) -> None:
    """A host that has the same files in the same place needs no copy."""
    assert set(module.files) == {str(tmp_path / "home" / "mine.py")}
    assert install(module, tmp_path / "scratch") == tmp_path / "home"


def test_code_that_differs_is_copied(module: Code, tmp_path: Path) -> None:
    """The copy has the tuner's text, in a folder of the same path below the copy's own."""
    (tmp_path / "home" / "mine.py").write_text("A = 2")
    folder = install(module, tmp_path / "scratch")
    assert folder.is_relative_to(tmp_path / "scratch")
    assert folder.parts[-2:] == tmp_path.joinpath("home").parts[-2:]
    assert (folder / "mine.py").read_text() == "A = 1"


def test_code_beyond_the_limit_is_refused_where_it_is_needed(
    module: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with the folder uses it; on another one the error says how much may be copied."""
    monkeypatch.setattr(ray_agent, "MOST_FILES", 0)
    factory = Factory(name="f", module="mine", root=".")
    large = code_of(Workload(model=factory, dataset=factory))
    assert install(large, tmp_path / "scratch") == tmp_path / "home"
    with pytest.raises(UsageError, match="holds too many"):
        install(large._replace(directory="/nosuch"), tmp_path / "scratch")
    assert module != large


def test_a_link_is_measured() -> None:
    found = Agent.reach("127.0.0.1", Agent.answer(5.0))
    assert 0 < found.latency < 1
    assert found.bandwidth > 0
    with held_ports(1) as [port]:
        assert Agent.reach("127.0.0.1", port) is None
