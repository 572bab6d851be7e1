"""An engine that answers from a table, in no time."""

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, cast

from autotune.config import Configuration
from autotune.engine.base import A, Engine, RunResult, Task, Watch, go_on
from autotune.engine.tasks import InspectionRequest, Observation, ObservationRequest, TrialRequest
from autotune.machine import Machine
from autotune.reason import Message
from autotune.search.trials import Costs
from autotune.shared_values import Window
from benchmarks.replay.table import Run
from benchmarks.replay.world import World, log_rate, steady
from tests.engines.fake import observation

PREPARATION_SECONDS = 7.5
"""TensorFlow's import and the look at the factories, as measured live."""
MOST_WINDOWS = 1000
ROUNDS = 8
"""How often the steady windows of a run go round until its rate is that of any longer run."""


class ReplayEngine(Engine):
    """Replays runs of a world: the shape of a recorded run, at the true rate, with its scatter."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._runs: dict[Configuration, list[Run]] = defaultdict(list)
        for run in world.table.trainings:
            self._runs[run.configuration].append(run)
        self._random = random.Random(seed)  # noqa: S311 - noise, no secret
        other = random.Random(f"disturbed {seed}")  # noqa: S311 - as above
        self._disturbance = world.disturbed(other)
        self._time = 0.0

    def machine(self) -> Machine:
        """Return the machine of the table."""
        return self._world.table.machine

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        """Replay what the table holds."""
        answer: Any
        match task:
            case InspectionRequest():
                self._time += PREPARATION_SECONDS
                answer = self._world.table.facts
            case TrialRequest():
                answer = self._replayed(task, watch)
            case ObservationRequest():
                answer = self._observed(task)
            case _:
                answer = task.not_offered()
        return cast("A", answer)

    def _replayed(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Replay a run of the configuration."""
        run = self._random.choice(self._runs[request.configuration])
        if not self._world.table.measured(run):
            self._time += run.wall_seconds
            return RunResult(
                outcome=run.outcome, reason=Message(text=run.reason), wall_seconds=run.wall_seconds
            )
        truth = math.log(self._world.rates[run.configuration])
        level = truth + self._random.choice(self._world.scatter)
        level += self._disturbance(run.configuration.distributed)
        # What it showed when it was recorded is another figure, as it ended anywhere in an epoch.
        shown = log_rate(run, self._world.table, rounds=ROUNDS)
        return self._watched(run, watch, stretch=math.exp(shown - level))

    def _observed(self, request: ObservationRequest) -> Observation:
        """Show a training without a fault, after about as long as a start takes."""
        seconds = Costs(()).seconds(request.trial.configuration)
        self._time += seconds
        return observation(request, seconds=seconds)

    def now(self) -> float:
        """Return virtual seconds."""
        return self._time

    def close(self) -> None:
        """Do nothing."""

    def _watched(self, run: Run, watch: Watch, stretch: float) -> RunResult:
        start, first = run.start_seconds or 0.0, run.first_step_seconds or 0.0
        recorded = sum(window.seconds for window in run.windows)
        end = max(run.wall_seconds - start - first - recorded, 0.0)
        began, shown, stop = self._time, [], None
        self._time += start + first
        for window in itertools.islice(self._windows(run, stretch), MOST_WINDOWS):
            shown.append(window)
            self._time += window.seconds
            stop = watch(tuple(shown))
            if stop:
                break
        if stop is None:
            raise AssertionError("The watch never stopped a run.")
        self._time += end
        return RunResult(
            outcome=stop.outcome,
            reason=stop.reason,
            windows=tuple(shown),
            start_seconds=start,
            first_step_seconds=first,
            wall_seconds=self._time - began,
        )

    def _windows(self, run: Run, stretch: float) -> Iterator[Window]:
        """Yield the windows of a run, slower by a factor, of which the steady ones go round.

        They begin anywhere, or each time that a run is drawn its beginning would err alike.
        """
        again = list(steady(run, self._world.table))
        before = run.windows[: len(run.windows) - len(again)]
        first = self._random.randrange(len(again))
        turned = itertools.cycle([*again[first:], *again[:first]])
        for window in itertools.chain(before, turned):
            yield window._replace(seconds=window.seconds * stretch)
