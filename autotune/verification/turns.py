"""Fresh runs of a few configurations that take turns, outside any search."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from autotune.config import Configuration
from autotune.events import Observer
from autotune.measure import Noise
from autotune.run.engine import Engine
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.trial import Stage, Trial


class Turns:
    """Rounds in which every arm runs once, in random order.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        arms: What takes part; an A/A test holds one configuration twice.
        seed: Of the order within each round.
    """

    def __init__(
        self, runner: Runner, budget: Budget, arms: Sequence[Configuration], *, seed: int
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._arms = tuple(arms)
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self._rounds: list[dict[int, Trial]] = []

    def take(self) -> None:
        """Run one round."""
        number = len(self._rounds)
        done: dict[int, Trial] = {}
        self._rounds.append(done)
        for arm in self._random.sample(range(len(self._arms)), len(self._arms)):
            done[arm] = self._runner.run(self._arms[arm], Stage.FINAL, turn=number)

    @property
    def affordable(self) -> bool:
        """Whether another round is expected to end before the time is spent."""
        return self._budget.left >= self._runner.history.costs.total(self._arms)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning, the preparation included."""
        return self._budget.elapsed

    @property
    def count(self) -> int:
        """Rounds that were run."""
        return len(self._rounds)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All runs, oldest first."""
        return tuple(sorted(self._all(), key=lambda trial: trial.number))

    @property
    def noise(self) -> Noise:
        """Between-run noise, as far as it is known."""
        return self._runner.history.noise

    def of(self, arm: int) -> tuple[Trial, ...]:
        """Return the runs of one arm, oldest first."""
        return tuple(done[arm] for done in self._rounds if arm in done)

    def rates(self, arm: int) -> list[float]:
        """Return the throughput of each measured run of an arm."""
        return [rate for rate in map(_rate, self.of(arm)) if rate]

    def pairs(self) -> list[tuple[float, float]]:
        """Return what the first two arms measured in the rounds that both finished."""
        both = [(done[0], done[1]) for done in self._rounds if {0, 1} <= done.keys()]
        rates = [(_rate(first), _rate(second)) for first, second in both]
        return [(first, second) for first, second in rates if first and second]

    def _all(self) -> Iterator[Trial]:
        for done in self._rounds:
            yield from done.values()


@contextmanager
def turns(
    engine: Engine,
    subject: Subject,
    arms: Sequence[Configuration],
    *,
    budget: Budget,
    seed: int,
    observer: Observer,
) -> Iterator[Turns]:
    """Give rounds of fresh runs, whose folders are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        runner = Runner(
            engine, subject, TrialList(), folder=Path(folder), budget=budget, observer=observer
        )
        yield Turns(runner, budget, arms, seed=seed)


def _rate(trial: Trial) -> float | None:
    return trial.examples_per_second if trial.measured else None
