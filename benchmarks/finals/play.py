"""Plays a search among a few configurations, with runs that are drawn instead of made."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import cast

from autotune.checks.certificate import Certificate
from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.options import SearchOptions
from autotune.reason import Measured, Outcome
from autotune.result import Verdict
from autotune.search.findings import Findings
from autotune.search.history import History
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.study import Study
from autotune.space import Candidates
from autotune.trial import Stage, Trial
from autotune.workload import Factory, Workload, WorkloadFacts
from benchmarks.finals.worlds import Disturbance, World
from benchmarks.share import covers

MARGIN = 0.03
RATE = 10_000.0
"""Examples per second of a configuration whose log(rate) is zero."""
RUN_SECONDS = 6.0
"""That a run takes, so that the machine drifts meanwhile."""
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
        several = (
            Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=32 << n)
            for n in range(self.distributed)
        )
        return {**alone, **dict.fromkeys(several, math.log1p(self.gain))}


@dataclass(frozen=True, kw_only=True)
class Played:
    """What became of one."""

    verdict: Verdict
    gain_covered: bool | None
    """Whether the interval of the gain holds the truth; None where there is none."""
    rate_covered: bool | None
    runs: int


class Drawn:
    """Stands for runner and budget of a search: draws runs instead of making them.

    Args:
        truth: Log(rate) of each configuration.
        machine: What disturbs it.
        runs: How many fit into the time.
    """

    def __init__(self, truth: dict[Configuration, float], machine: Disturbance, runs: int) -> None:
        self.history = History([])
        self.study = Study(pool=list(truth))
        self.budget = self
        self.subject = SUBJECT
        self.budget = self
        self._runs = runs
        self._truth = truth
        self._machine = machine

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return RUN_SECONDS * self._runs - self.elapsed

    @property
    def elapsed(self) -> float:
        """Seconds that all runs took."""
        return RUN_SECONDS * len(self.history.trials)

    def run(self, configuration: Configuration, stage: Stage, *, prunes: bool = False) -> Trial:
        del prunes
        level = self._truth[configuration] + self._machine(configuration.distributed)
        trial = Trial(
            number=len(self.history.trials),
            stage=stage,
            configuration=configuration,
            outcome=Outcome.MEASURED,
            reason=Measured(),
            examples_per_second=RATE * math.exp(level),
            wall_seconds=RUN_SECONDS,
            ended_at=self.elapsed + RUN_SECONDS,
        )
        self.history.add(trial)
        return trial

    def certify(self, configuration: Configuration) -> Certificate:
        """Return that it trains as one device would."""
        del configuration
        return Certificate(checks=(), seconds=0.0)

    def take_held(self) -> bool:
        return False

    def why_impossible(self, configuration: Configuration) -> None:
        """Return that no host is lost."""
        del configuration


def play(cell: Cell, seed: int) -> Played:
    """Search among a few configurations, each of which has its truth."""
    # Worlds with the same draws would be unlucky together.
    draw = random.Random(f"{cell.world.name} {seed}")  # noqa: S311 - noise, no secret
    truth = cell.truth
    drawn = Drawn(truth, cell.world.runs(draw), cell.runs + len(truth))
    found = Candidates(configurations=tuple(truth), limits=(), batch_matched={})
    options = SearchOptions(margin=MARGIN, seed=seed)
    search = Search(cast("Runner", drawn), found, options)
    return _played(search.run(), truth)


def _played(findings: Findings, truth: dict[Configuration, float]) -> Played:
    decision, chosen = findings.decision, findings.recommended
    gain, challenger = decision.gain, decision.challenger
    over = truth[challenger] - truth[findings.baseline] if challenger else 0.0
    return Played(
        verdict=decision.verdict,
        gain_covered=covers(gain, math.exp(over)),
        rate_covered=covers(findings.examples_per_second, RATE * math.exp(truth[chosen])),
        runs=len(findings.history.trials),
    )
