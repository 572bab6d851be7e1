"""The test suite that every engine passes. It needs pytest.

    class TestMyEngine(EngineContract):
        @classmethod
        def new_engine(cls): return MyEngine()

        def make_request(self, behaviour, folder): return TrialRequest(...)

For pytest to explain a failed assertion, name this module in a `conftest.py`:
`pytest.register_assert_rewrite("autotune.testing.contract")`.
"""

# ruff: noqa: S101 - asserts are what a test suite is made of

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import pytest

from autotune.reason import Message, Slower
from autotune.run.engine import Engine, Outcome, RunResult, Stop, TrialRequest, Window
from autotune.sentences.reasons import reason_text


class Behaviour(StrEnum):
    """What a trial does, if nobody stops it."""

    MEASURED = "measured"
    """Trains for ever, in one process."""
    GANG = "gang"
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
    """A watch that stops a trial after some windows, and remembers what it was shown.

    Args:
        stop: Its order.
        after: Windows to wait for.
    """

    def __init__(self, stop: Stop = ENOUGH, after: int = 3) -> None:
        self._stop = stop
        self._after = after
        self.seen: list[tuple[Window, ...]] = []

    def __call__(self, windows: Sequence[Window]) -> Stop | None:
        """Remember the windows, and stop when there are enough."""
        self.seen.append(tuple(windows))
        return self._stop if len(windows) >= self._after else None


def interrupt(_: Sequence[Window]) -> Stop | None:
    """Do what Ctrl-C does while a trial runs."""
    raise KeyboardInterrupt


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

    def run(
        self, engine: Engine, behaviour: Behaviour, folder: Path, watch: Recorder | None = None
    ) -> RunResult:
        """Run one trial in a new folder."""
        return engine.run(self.make_request(behaviour, folder / behaviour), watch or Recorder())

    def test_it_describes_its_machine(self, engine: Engine) -> None:
        """`machine` tells of at least one core, and the same each time."""
        assert engine.machine().cpus >= 1
        assert engine.machine() == engine.machine()

    @pytest.mark.parametrize("behaviour", [Behaviour.MEASURED, Behaviour.GANG])
    def test_a_healthy_trial_is_measured(
        self, engine: Engine, behaviour: Behaviour, tmp_path: Path
    ) -> None:
        """A trial that trains gives windows, and ends as its watch orders."""
        result = self.run(engine, behaviour, tmp_path)
        assert (result.outcome, result.reason) == ENOUGH
        assert all(window.steps > 0 and window.seconds > 0 for window in result.windows)
        assert result.start_seconds is not None
        assert result.first_step_seconds is not None
        assert 0 <= result.start_seconds < result.wall_seconds
        assert 0 <= result.first_step_seconds < result.wall_seconds

    def test_the_watch_sees_each_new_window(self, engine: Engine, tmp_path: Path) -> None:
        """A watch is called once per window, with all windows so far, and not after its order."""
        watch = Recorder(after=4)
        result = self.run(engine, Behaviour.MEASURED, tmp_path, watch)
        assert [len(windows) for windows in watch.seen] == [1, 2, 3, 4]
        assert all(watch.seen[-1][: len(windows)] == windows for windows in watch.seen)
        assert result.windows == watch.seen[-1]

    def test_an_order_to_stop_is_obeyed(self, engine: Engine, tmp_path: Path) -> None:
        """The watch decides the outcome and gives the reason."""
        stop = Stop(Outcome.PRUNED, Slower(most=0.5))
        result = self.run(engine, Behaviour.MEASURED, tmp_path, Recorder(stop, after=1))
        assert (result.outcome, result.reason) == stop

    @pytest.mark.parametrize("behaviour", list(BAD_ENDS))
    def test_a_bad_end_has_its_name_and_reason(
        self, engine: Engine, behaviour: Behaviour, tmp_path: Path
    ) -> None:
        """Whatever a trial does, its outcome is named, with a reason."""
        result = self.run(engine, behaviour, tmp_path, Recorder(after=10**9))
        assert result.outcome is BAD_ENDS[behaviour]
        assert len(reason_text(result.reason).split()) > 1
        assert result.wall_seconds > 0

    def test_it_survives_every_bad_end(self, engine: Engine, tmp_path: Path) -> None:
        """An engine measures as before after trials that went wrong."""
        for behaviour in (Behaviour.CRASHED, Behaviour.FAILED):
            self.run(engine, behaviour, tmp_path)
        assert self.run(engine, Behaviour.MEASURED, tmp_path).outcome is Outcome.MEASURED

    def test_the_folder_is_used(self, engine: Engine, tmp_path: Path) -> None:
        """A trial leaves its traces in the folder of its request, whatever its name."""
        request = self.make_request(Behaviour.MEASURED, tmp_path / "deep" / "a b'c")
        engine.run(request, Recorder())
        assert request.folder.is_dir()

    def test_ctrl_c_passes_through(self, engine: Engine, tmp_path: Path) -> None:
        """An interruption leaves `run`, and the engine can be used again."""
        with pytest.raises(KeyboardInterrupt):
            engine.run(self.make_request(Behaviour.MEASURED, tmp_path / "one"), interrupt)
        result = engine.run(self.make_request(Behaviour.MEASURED, tmp_path / "two"), Recorder())
        assert result.outcome is Outcome.MEASURED

    def test_the_clock_runs_on(self, engine: Engine, tmp_path: Path) -> None:
        """The engine's clock advances by at least what a trial took."""
        begun = engine.now()
        result = self.run(engine, Behaviour.MEASURED, tmp_path)
        assert engine.now() - begun >= result.wall_seconds * 0.999

    def test_it_may_be_closed_twice(self) -> None:
        """Closing an engine that was closed, or hardly begun, does nothing."""
        engine = self.new_engine()
        engine.close()
        engine.close()
