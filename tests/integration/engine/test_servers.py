"""Clusters with parameter servers, as trials."""

import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from autotune.config import Configuration, ShardPolicy
from autotune.engine.base import Limits, Stop
from autotune.engine.events import TrialFolder
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import TrialRequest
from autotune.program import render
from autotune.reason import Killed, Outcome
from autotune.shared_values import Window
from autotune.strategies import strategy
from autotune.workload import Factory, Workload, WorkloadFacts
from tests.trials import ENOUGH, request_for

from .conftest import MACHINE

pytestmark = pytest.mark.real

HERE = Path(__file__).parent
CLUSTER = ("chief 0", "worker 0", "worker 1", "server 0")


def factory(name: str, **arguments: str) -> Factory:
    root = str(HERE / "programs")
    return Factory(name=name, module="shares", root=root, arguments=tuple(arguments.items()))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return the file in which the chief writes down who has trained on what."""
    return tmp_path / "notes"


@pytest.fixture
def served(tmp_path: Path, notes: Path) -> Callable[..., TrialRequest]:

    def make(policy: ShardPolicy = "data") -> TrialRequest:
        configuration = Configuration(
            strategy="parameter_server",
            workers=2,
            servers=1,
            per_replica_batch=1,
            shard_policy=policy,
        )
        workload = Workload(
            model=factory("model_fn"),
            dataset=factory("dataset_fn"),
            callbacks=factory("callbacks_fn", path=str(notes)),
        )
        facts = WorkloadFacts(examples=64, dataset_takes=("input_context",))
        return request_for(
            render(configuration, workload, facts, MACHINE).train,
            tmp_path / "t",
            configuration=configuration,
            workload=workload,
            roles=strategy("parameter_server").roles(configuration, MACHINE),
            limits=Limits(whole=300.0),
        )

    return make


def told_in(notes: Path) -> dict[str, set[int]]:
    told: dict[str, set[int]] = {}
    for line in notes.read_text(encoding="ascii").splitlines() if notes.exists() else ():
        worker, example = line.split()
        told.setdefault(worker, set()).add(int(example))
    return told


@pytest.mark.parametrize("policy", ["data", "source"])
def test_each_worker_trains_on_its_share(
    engine: LocalEngine, served: Callable[..., TrialRequest], notes: Path, policy: ShardPolicy
) -> None:
    """Two workers read disjoint examples, and are timed."""

    def watch(windows: Sequence[Window]) -> Stop | None:
        enough = len(windows) >= 5 and len(told_in(notes)) == 2
        return ENOUGH if enough else None

    result = engine.execute(served(policy), watch)
    assert result.outcome is Outcome.MEASURED, f"{result}"
    seen = told_in(notes)
    assert seen.keys() == {"0", "1"}
    assert not seen["0"] & seen["1"]
    assert {each % 2 for each in seen["0"]} == {0}


def writes_to(pid: int) -> Path:
    return Path(f"/proc/{pid}/fd/1").readlink()


@pytest.mark.parametrize("victim", ["worker 1", "server 0"])
def test_a_dead_member_ends_the_cluster(
    engine: LocalEngine, served: Callable[..., TrialRequest], victim: str
) -> None:
    """TensorFlow would wait for it to come back; here the reason is told and nobody is left."""
    family = psutil.Process(engine.start().process.pid)
    request = served()

    def kill(windows: Sequence[Window]) -> None:
        if len(windows) == 2:
            # Numbers of processes begin anew at some point: a member is known by what it writes.
            output = TrialFolder(request.folder).output(CLUSTER.index(victim))
            [member] = [each for each in family.children() if writes_to(each.pid) == output]
            member.send_signal(signal.SIGKILL)

    result = engine.execute(request, kill)
    assert (result.outcome, result.reason) == (
        Outcome.CRASHED,
        Killed(process=victim, signal=signal.SIGKILL),
    )
    assert family.children() == []
