"""Plays the finals of a search, with runs that are drawn instead of made."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from autotune.checks.certificate import Certificate
from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.reason import Measured, Outcome
from autotune.result import Verdict
from autotune.search.certification import Certification
from autotune.search.finalists import choose_finalists, fitting
from autotune.search.finals import Finals
from autotune.search.history import History
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.surrogate import Expectations
from autotune.stats import Interval
from autotune.trial import Stage, Trial
from autotune.workload import Factory, Workload, WorkloadFacts
from benchmarks.finals.worlds import Disturbance, World

MARGIN = 0.03
BEHIND = 0.03
"""By how much each single device is slower than the one before, as log(rate)."""
SUBJECT = Subject(
    workload=Workload(model=Factory(module="m", name="m"), dataset=Factory(module="m", name="d")),
    facts=WorkloadFacts(),
    machine=Machine(hosts=(Host(cpus=2, memory=2**30, processor="none"),)),
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One kind of finals."""

    world: World
    gain: float
    """True gain of each distributed configuration over the best single device, as a share."""
    distributed: int
    singles: int
    runs: int = 28
    """How many fit into the time, those of the explorers not counted."""

    @property
    def truth(self) -> dict[Configuration, float]:
        """True log(rate) of each configuration."""
        alone = {Configuration(per_replica_batch=32 << n): -BEHIND * n for n in range(self.singles)}
        gangs = (
            Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=32 << n)
            for n in range(self.distributed)
        )
        return {**alone, **dict.fromkeys(gangs, math.log1p(self.gain))}


@dataclass(frozen=True, kw_only=True)
class Played:
    """What became of one."""

    verdict: Verdict
    gain_covered: bool | None
    """Whether the interval of the gain holds the truth; None where there is none."""
    gain_error: float | None
    """Log(announced gain) minus its truth."""
    rate_covered: bool | None
    runs: int


class Drawn:
    """Draws runs instead of making them, one of which takes a unit of time.

    Args:
        truth: Log(rate) of each configuration.
        machine: What disturbs it.
        left: Runs that fit into the time.
    """

    def __init__(
        self, truth: dict[Configuration, float], machine: Disturbance, left: float
    ) -> None:
        self.history = History([])
        self.subject = SUBJECT
        self.left = left
        self._truth = truth
        self._machine = machine

    def run(
        self,
        configuration: Configuration,
        stage: Stage,
        *,
        reference: Sequence[float] = (),
        turn: int | None = None,
        ahead: float | None = None,
    ) -> Trial:
        """Draw a run."""
        del reference, ahead
        self.left -= stage is Stage.FINAL
        level = self._truth[configuration] + self._machine(configuration.distributed)
        trial = Trial(
            number=len(self.history.trials),
            stage=stage,
            configuration=configuration,
            outcome=Outcome.MEASURED,
            reason=Measured(),
            round=turn,
            examples_per_second=math.exp(level),
            wall_seconds=1.0,
        )
        self.history.add(trial)
        return trial

    def take_held(self) -> bool:
        """Return that nothing is kept for others."""
        return False

    def why_impossible(self, configuration: Configuration) -> None:
        """Return that no host is lost."""
        del configuration


class Trusting:
    """Lets everybody win."""

    def certify(self, configuration: Configuration) -> bool:
        """Return that it may win."""
        del configuration
        return True

    passed = certify

    def refused(self, configuration: Configuration) -> bool:
        """Return that it is not refused."""
        del configuration
        return False

    is_open = refused

    def of(self, configuration: Configuration) -> Certificate | None:
        """Return that nothing was written down."""
        del configuration
        return None

    def seconds(self, configurations: Iterable[Configuration]) -> float:
        """Return that it takes no time."""
        del configurations
        return 0.0


def play(cell: Cell, seed: int) -> Played:
    """Explore each configuration once, and run the finals of the search."""
    draw = random.Random(seed)  # noqa: S311 - noise, no secret
    truth = cell.truth
    drawn = Drawn(truth, cell.world.runs(draw), cell.runs)
    for each in truth:
        drawn.run(each, Stage.EXPLORE if each.distributed else Stage.BASELINE)
    finals = _finals(drawn, truth, seed)
    finals.run()
    return _played(finals, truth, len(drawn.history.trials) - len(truth))


def _finals(drawn: Drawn, truth: dict[Configuration, float], seed: int) -> Finals:
    history = drawn.history
    expectations = Expectations(history, list(truth))
    finalists = choose_finalists(
        history,
        expectations.ranked(distributed=False),
        expectations.ranked(distributed=True),
        next(iter(truth)),
    )
    # The rest of a search is not needed here, and would take most of the time.
    return Finals(
        cast("Runner", drawn),
        cast("Budget", drawn),
        fitting(finalists, history, drawn.left),
        cast("Certification", Trusting()),
        expectations=expectations,
        unknown_match=lambda _: None,
        margin=MARGIN,
        seed=seed,
    )


def _played(finals: Finals, truth: dict[Configuration, float], runs: int) -> Played:
    decision, baseline = finals.decision(), finals.baseline
    gain, challenger = decision.gain, decision.challenger
    wins = decision.verdict is Verdict.DISTRIBUTE
    chosen = challenger if wins and challenger else baseline
    over = truth[challenger] - truth[baseline] if challenger else 0.0
    return Played(
        verdict=decision.verdict,
        gain_covered=_covers(gain, over),
        gain_error=math.log(gain.value) - over if gain else None,
        rate_covered=_covers(finals.throughput(chosen), truth[chosen]),
        runs=runs,
    )


def _covers(interval: Interval | None, truth: float) -> bool | None:
    return None if interval is None else interval.low <= math.exp(truth) <= interval.high
