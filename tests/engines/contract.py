"""The test suite that every engine passes.

    class TestMyEngine(EngineContract):
        @classmethod
        def new_engine(cls): return MyEngine()

        def make_request(self, behaviour, folder): return TrialRequest(...)

One that calls factories and runs programs derives from `ProcessContract`.

An engine that hands on to another one needs less: see `WrapperContract`.

For pytest to explain a failed assertion, a `conftest.py` names this module, as autotune's own does.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from autotune.config import Configuration
from autotune.engine.base import Engine, RunResult, Stop, Task
from autotune.engine.tasks import (
    BetweenEpochsRequest,
    DevicesRequest,
    Fill,
    FirstStepRequest,
    InspectionRequest,
    LearningRequest,
    ObservationRequest,
    TrialRequest,
    trial_request,
)
from autotune.errors import WorkloadError
from autotune.reason import Message, Outcome, PlainReason, ReasonKind
from autotune.reason.sentences import reason_text
from autotune.shared_values import Window
from autotune.strategies import Role
from autotune.workload import Factory, Workload
from tests.engines.fake import FakeEngine, fake_learning


class Behaviour(StrEnum):
    """What a trial does, if nobody stops it."""

    MEASURED = "measured"
    """Trains for ever, in one process."""
    GROUP = "group"
    """Trains for ever, in two processes."""
    FAILED = "failed"
    """Raises an error."""
    NAN = "nan"
    """Trains, but its loss is not a number."""
    OUT_OF_MEMORY = "out of memory"
    """Takes more memory than its limits allow."""
    HUNG = "hung"
    """Begins nothing within its limits."""
    CRASHED = "crashed"
    """Dies by a signal."""


BAD_ENDS = {
    Behaviour.FAILED: Outcome.FAILED,
    Behaviour.NAN: Outcome.FAILED,
    Behaviour.OUT_OF_MEMORY: Outcome.OUT_OF_MEMORY,
    Behaviour.HUNG: Outcome.HUNG,
    Behaviour.CRASHED: Outcome.CRASHED,
}
ENOUGH = Stop(Outcome.MEASURED, Message(text="Three windows are enough."))


class Recorder:
    """A watch that stops a trial after some windows, and remembers what it was shown."""

    def __init__(self, stop: Stop = ENOUGH, after: int = 3) -> None:
        self._stop = stop
        self._after = after
        self.seen: list[tuple[Window, ...]] = []

    def __call__(self, windows: Sequence[Window]) -> Stop | None:
        self.seen.append(tuple(windows))
        return self._stop if len(windows) >= self._after else None


def interrupt(_: Sequence[Window]) -> Stop | None:
    """Do what Ctrl-C does while a trial runs."""
    raise KeyboardInterrupt


PROBE = Workload(
    model=Factory(name="model_fn", module="tests.engines.probe", arguments=(("numbers", 1000),)),
    dataset=Factory(name="dataset_fn", module="tests.engines.probe"),
)
"""Factories that fulfil their contract."""
BROKEN = PROBE.model_copy(update={"model": Factory(name="nosuch_fn", module="nosuch_module")})
CALLS = 2
BATCH = 1000
"""Batch of the first behaviour on a fake engine; each has one of its own."""


class EngineContract(ABC):
    """What the search relies on. A subclass brings an engine and a request per behaviour."""

    @classmethod
    @abstractmethod
    def new_engine(cls) -> Engine:
        """Return a fresh engine."""

    @abstractmethod
    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        """Return a request for a trial that behaves so, in a folder that does not exist yet."""

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls) -> Iterator[Engine]:
        """Give all tests of the class one engine, because starting one may take seconds."""
        with cls.new_engine() as engine:
            yield engine

    def make_trial(self, engine: Engine, folder: Path) -> TrialRequest:
        """Return a request to train the small workload on one device."""
        facts, machine = engine.execute(InspectionRequest(PROBE)), engine.machine()
        return trial_request(Configuration(), PROBE, facts, machine, folder)

    def make_observation(self, engine: Engine, folder: Path, **fields: Any) -> ObservationRequest:
        """Return a request to look at such a training."""
        return ObservationRequest(trial=self.make_trial(engine, folder), calls=CALLS, **fields)

    def run(
        self, engine: Engine, behaviour: Behaviour, folder: Path, watch: Recorder | None = None
    ) -> RunResult:
        return engine.execute(self.make_request(behaviour, folder / behaviour), watch or Recorder())

    def test_it_describes_its_machine(self, engine: Engine) -> None:
        """The same each time; the first of its hosts tells what devices all have."""
        found, machine = engine.execute(DevicesRequest()), engine.machine()
        assert machine.cpus >= 1
        assert machine == engine.machine()
        assert found.tensorflow == machine.tensorflow
        assert found.hosts[0].gpus == machine.hosts[0].gpus

    @pytest.mark.parametrize("behaviour", [Behaviour.MEASURED, Behaviour.GROUP])
    @pytest.mark.parametrize("exchanges", [True, False])
    def test_a_healthy_trial_is_measured(
        self, engine: Engine, behaviour: Behaviour, tmp_path: Path, *, exchanges: bool
    ) -> None:
        """It gives windows and ends as its watch orders, also without the replicas' exchange."""
        request = replace(self.make_request(behaviour, tmp_path / "one"), exchanges=exchanges)
        result = engine.execute(request, Recorder())
        assert (result.outcome, result.reason) == ENOUGH
        assert all(window.steps > 0 and window.seconds > 0 for window in result.windows)
        assert result.start_seconds is not None
        assert result.first_step_seconds is not None
        assert 0 <= result.start_seconds < result.wall_seconds
        assert 0 <= result.first_step_seconds < result.wall_seconds

    def test_the_watch_sees_each_new_window(self, engine: Engine, tmp_path: Path) -> None:
        """A watch is called once per window, with all windows so far, and not after its order."""
        watch, begun = Recorder(after=4), engine.now()
        result = self.run(engine, Behaviour.MEASURED, tmp_path, watch)
        assert engine.now() - begun >= result.wall_seconds * 0.999
        assert [len(windows) for windows in watch.seen] == [1, 2, 3, 4]
        assert all(watch.seen[-1][: len(windows)] == windows for windows in watch.seen)
        assert result.windows == watch.seen[-1]

    def test_caches_are_filled_before_a_training(self, engine: Engine, tmp_path: Path) -> None:
        """The input is read alone where the request asks for it, and the result says how far."""
        trial = self.make_trial(engine, tmp_path / "run")
        plain = engine.execute(replace(trial, folder=tmp_path / "plain"), Recorder())
        filled = engine.execute(replace(trial, fill=Fill(examples=8)), Recorder())
        assert (plain.outcome, filled.outcome) == (Outcome.MEASURED, Outcome.MEASURED)
        assert (plain.filled, filled.filled) == (None, 8)

    def test_an_order_to_stop_is_obeyed(self, engine: Engine, tmp_path: Path) -> None:
        """The watch decides; the trial leaves its traces in its folder, whatever the name."""
        stop = Stop(Outcome.PRUNED, PlainReason(kind=ReasonKind.SLOWER, most=0.5))
        request = self.make_request(Behaviour.MEASURED, tmp_path / "deep" / "a b'c")
        result = engine.execute(request, Recorder(stop, after=1))
        assert (result.outcome, result.reason) == stop
        assert request.folder.is_dir()

    @pytest.mark.parametrize("behaviour", list(BAD_ENDS))
    def test_a_bad_end_has_its_name_and_reason(
        self, engine: Engine, behaviour: Behaviour, tmp_path: Path
    ) -> None:
        result = self.run(engine, behaviour, tmp_path, Recorder(after=10**9))
        assert result.outcome is BAD_ENDS[behaviour]
        assert len(reason_text(result.reason).split()) > 1
        assert result.wall_seconds > 0

    def test_it_survives_every_bad_end(self, engine: Engine, tmp_path: Path) -> None:
        for behaviour in (Behaviour.CRASHED, Behaviour.FAILED):
            self.run(engine, behaviour, tmp_path)
        assert self.run(engine, Behaviour.MEASURED, tmp_path).outcome is Outcome.MEASURED

    def test_ctrl_c_passes_through(self, engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            engine.execute(self.make_request(Behaviour.MEASURED, tmp_path / "one"), interrupt)
        result = engine.execute(self.make_request(Behaviour.MEASURED, tmp_path / "two"), Recorder())
        assert result.outcome is Outcome.MEASURED

    def test_whoever_has_reserved_it_may_reserve_it_again(self, engine: Engine) -> None:
        """A search inside a reservation does not wait for itself, and both end."""
        notices: list[object] = []
        # The first one may say what it finds of its hosts.
        for outer in ([], notices):
            with engine.reserved("outer", outer.append), engine.reserved("inner", notices.append):
                pass
        assert notices == []

    def test_its_load_is_what_others_took_meanwhile(self, engine: Engine) -> None:
        """Since the last call; where nobody can tell, it says so."""
        engine.load()
        load = engine.load()
        if load is not None:
            assert load.cores >= 1
            assert load.seconds >= 0
            assert min(load.busy, load.stolen) >= 0

    def test_its_network_has_a_bandwidth_between_hosts(self, engine: Engine) -> None:
        """Within a single host there is none."""
        bandwidth = engine.bandwidth()
        assert bandwidth is None or bandwidth > 0
        assert bandwidth is None or len(engine.machine().hosts) > 1

    def test_inspect_reports_what_the_factories_give(self, engine: Engine) -> None:
        """The same facts each time, of a workload that can be trained."""
        facts = engine.execute(InspectionRequest(PROBE))
        assert facts.example_bytes > 0
        assert facts.weights > 0
        assert facts.examples is None or facts.examples > 0
        assert engine.execute(InspectionRequest(PROBE)).declared == facts.declared

    def test_observe_reports_what_a_training_read_and_became(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        """An observation per rank, a loss per call; a reference trains on the same batches."""
        request = self.make_observation(engine, tmp_path / "run", reads=CALLS, kept=1)
        found = engine.execute(request)
        assert found.failure is None
        assert len(found.ranks) == len(request.trial.roles)
        assert len(found.ranks[0].losses) == CALLS
        assert [len(each.sizes) for each in found.ranks[0].readers] == [CALLS]
        again = self.make_observation(
            engine, tmp_path / "reference", reference_to=request.trial.folder
        )
        reference = engine.execute(again)
        assert reference.failure is None
        assert len(reference.ranks) > 1

    def test_learning_is_predicted_or_refused(self, engine: Engine, tmp_path: Path) -> None:
        trial = self.make_trial(engine, tmp_path / "learn")
        found = engine.execute(LearningRequest(trial=trial, seconds=2.0))
        assert found.batch == trial.configuration.global_batch
        assert bool(found.probes) is not bool(found.refused)

    def test_between_epochs_is_timed_or_refused(self, engine: Engine, tmp_path: Path) -> None:
        trial = self.make_trial(engine, tmp_path / "between")
        found = engine.execute(BetweenEpochsRequest(trial=trial))
        assert found is None or found > 0

    def test_it_may_be_closed_twice(self) -> None:
        engine = self.new_engine()
        engine.close()
        engine.close()


class ProcessContract(EngineContract):
    """The contract of an engine that calls factories and runs programs, and does not play it."""

    def test_inspect_refuses_what_cannot_be_called(self, engine: Engine) -> None:
        """The error names the factory, and the engine goes on."""
        with pytest.raises(WorkloadError, match="nosuch_module"):
            engine.execute(InspectionRequest(BROKEN))
        assert engine.execute(InspectionRequest(PROBE)).weights > 0

    def test_observe_explains_why_a_training_failed(self, engine: Engine, tmp_path: Path) -> None:
        request = self.make_observation(engine, tmp_path / "run")
        broken = replace(request, trial=replace(request.trial, script="raise OSError('no luck')"))
        found = engine.execute(broken)
        assert found.failure is not None
        assert "no luck" in reason_text(found.failure)


def _speed(configuration: Configuration) -> float | Stop:
    numbers = {BATCH + number: behaviour for number, behaviour in enumerate(Behaviour)}
    outcome = BAD_ENDS.get(numbers.get(configuration.per_replica_batch, Behaviour.MEASURED))
    if outcome is None:
        return 1000.0
    return Stop(outcome=outcome, reason=Message(text="It was told to."))


def every_task(folder: Path) -> dict[str, Task[Any]]:
    trial = TrialRequest(
        configuration=Configuration(), script="", workload=PROBE, roles=(Role(),), folder=folder
    )
    tasks: list[Task[Any]] = [
        trial,
        ObservationRequest(trial=trial, calls=CALLS),
        LearningRequest(trial=trial),
        BetweenEpochsRequest(trial=trial),
        FirstStepRequest(PROBE),
        InspectionRequest(PROBE),
        DevicesRequest(),
    ]
    return {type(each).__name__: each for each in tasks}


KINDS = list(every_task(Path("unused")))
"""Names of all kinds of tasks."""


class WrapperContract(EngineContract):
    """The contract of an engine that hands on to another one, tried around a fake one."""

    own: Collection[str] = ()
    """Methods that it answers itself."""

    @classmethod
    @abstractmethod
    def wrap(cls, engine: Engine) -> Engine:
        """Return the engine around another one."""

    @classmethod
    def new_engine(cls) -> Engine:
        """Return it around an engine that needs no machine, and offers all that there is."""
        learning = fake_learning(500.0)
        return cls.wrap(FakeEngine(_speed, learning=learning))

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_task_is_handed_on(self, kind: str, tmp_path: Path) -> None:
        """The other engine does it and answers; nothing is refused in its name."""
        inner, watch = create_autospec(Engine, instance=True), Recorder()
        inner.execute.return_value = RunResult(outcome=ENOUGH.outcome, reason=ENOUGH.reason)
        task = every_task(tmp_path)[kind]
        answer = self.wrap(inner).execute(task, watch)
        assert (answer.outcome, answer.reason) == ENOUGH
        inner.execute.assert_called_once_with(task, watch)

    def test_every_method_is_handed_on(self) -> None:
        """The other engine answers, and gets what was given; no default answers in its place."""
        named = {name for name, each in vars(Engine).items() if callable(each) and name[0] != "_"}
        for name in named - {"execute", *self.own}:
            inner = create_autospec(Engine, instance=True)
            arguments = {"reserved": ("this search", print, 60.0)}.get(name, ())
            answer = getattr(self.wrap(inner), name)(*arguments)
            assert answer is getattr(inner, name).return_value, name
            getattr(inner, name).assert_called_once_with(*arguments)

    def test_it_is_entered_and_left_with_the_other_engine(self) -> None:
        """What the other engine starts in the background is started, and ended."""
        inner = create_autospec(Engine, instance=True)
        with self.wrap(inner):
            inner.__enter__.assert_called_once_with()
        assert inner.__exit__.called or inner.close.called

    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        """Return a request whose configuration stands for the behaviour."""
        return TrialRequest(
            configuration=Configuration(per_replica_batch=BATCH + list(Behaviour).index(behaviour)),
            script="",
            workload=PROBE,
            roles=(Role(), Role(index=1)) if behaviour is Behaviour.GROUP else (Role(),),
            folder=folder,
        )
