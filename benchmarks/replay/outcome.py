"""What one replayed search is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from autotune.errors import NothingMeasured
from autotune.options import MARGIN
from autotune.reason import Outcome, PerformanceBound
from autotune.result import Verdict
from autotune.stats.intervals import squared_residuals
from autotune.trial import Stage, Trial
from benchmarks.replay.replay import Replayed, replay
from benchmarks.replay.world import World, recorded
from benchmarks.share import covers

NEAR = 0.98
"""Share of the best throughput from which a configuration should not be pruned."""


LARGE = 200
"""Configurations from which a space counts as large."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How the truth of a table is changed, and how long a search may take."""

    name: str
    gain: float | None = None
    """What the best distributed configuration gains over the best single device."""
    noise: float | None = None
    """Standard deviation of log(rate) between runs; None leaves the table's own."""
    raw: bool = False
    """Whether a configuration's own runs alone are its truth, and not also those like it."""
    seconds: float | None = None
    """Budget; None takes a share of an exhaustive pass."""
    large: float = 0.12
    """That share for a space of `LARGE` configurations and more."""
    small: float = 0.30
    """That share for a smaller one."""
    known: bool = False
    """Whether only the best of one device and the best of several are searched."""

    def budget(self, world: World) -> float:
        """Return the seconds of a search, everything included."""
        share = self.large if len(world.table.configurations) >= LARGE else self.small
        return self.seconds or share * world.exhaustive_seconds


@dataclass(frozen=True, kw_only=True)
class Job:
    """One search to be made."""

    table: str
    scenario: Scenario
    seed: int


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What came of it."""

    job: Job
    configurations: int
    share: float
    """True throughput of what is recommended, as a share of the best."""
    cost: float
    """As a share of an exhaustive pass."""
    trials: int
    verdict: Verdict
    pruned_near: int
    """Exploring trials that were pruned though nearly the best."""
    kept_near: int
    skipped: int
    """Configurations that were skipped as unable to win."""
    wrong_skips: int
    """Those of them that would have won."""
    said: float
    """Probability that the answer tells: that distributing is faster than every configuration on
    one device, or that none gains more than the margin."""
    right: bool
    """Whether it is so."""
    gain_covered: bool | None
    rate_covered: bool | None
    residuals: tuple[float, int]
    """Of log(score) of repeated runs, each configuration around its own mean: the sum of squares,
    and its degrees of freedom."""


def within(results: Iterable[Scored], scenario: Scenario) -> list[Scored]:
    """Return the searches of one scenario."""
    return [each for each in results if each.job.scenario == scenario]


def scored(job: Job) -> Scored:
    """Make one search and score it."""
    world = world_in(job.table, job.scenario)
    among = None
    if job.scenario.known:
        among = {world.fastest(distributed=each) for each in (False, True)}
    budget = job.scenario.budget(world)
    try:
        result = replay(world, budget, job.seed, among)
    except NothingMeasured:
        return _nothing(job, world, budget / world.exhaustive_seconds)
    findings = result.findings
    said, right = _said(result)
    near = [
        trial
        for trial in findings.history.trials
        if trial.stage is not Stage.REPEAT
        and world.rates.get(trial.configuration, 0) >= NEAR * world.best
    ]
    return Scored(
        job=job,
        configurations=len(world.table.configurations),
        share=result.share,
        cost=result.cost,
        trials=len(findings.history.trials),
        verdict=findings.decision.verdict,
        pruned_near=sum(t.outcome is Outcome.PRUNED for t in near),
        kept_near=sum(t.outcome is Outcome.MEASURED for t in near),
        skipped=len(_skipped(result)),
        wrong_skips=_wrong_skips(result),
        said=said,
        right=right,
        gain_covered=_gain_covered(result),
        rate_covered=covers(findings.examples_per_second, world.rates[findings.recommended]),
        residuals=squared_residuals(findings.history.repeated),
    )


def _nothing(job: Job, world: World, cost: float) -> Scored:
    """Return what a search is worth whose first trial failed, and left no time for another."""
    return Scored(
        job=job,
        configurations=len(world.table.configurations),
        share=0.0,
        cost=cost,
        trials=1,
        verdict=Verdict.UNDECIDED,
        pruned_near=0,
        kept_near=0,
        skipped=0,
        wrong_skips=0,
        said=0.0,
        right=False,
        gain_covered=None,
        rate_covered=None,
        residuals=(0.0, 0),
    )


@cache
def world_in(name: str, scenario: Scenario) -> World:
    """Return the world of a table, as a scenario changes it."""
    world = recorded(name, alike=not scenario.raw)
    if scenario.gain is not None:
        world = world.with_gain(scenario.gain)
    return world if scenario.noise is None else world.with_noise(scenario.noise)


def _said(result: Replayed) -> tuple[float, bool]:
    decision, world = result.findings.decision, result.world
    alone, several = (world.best_of(distributed=each) for each in (False, True))
    if decision.challenger and decision.gain and decision.gain.value > 1:
        return decision.faster, world.rates[decision.challenger] > alone
    return decision.none, several <= alone * (1 + MARGIN)


def _wrong_skips(result: Replayed) -> int:
    world = result.world
    alone = world.best_of(distributed=False)
    return sum(world.rates.get(t.configuration, 0) > alone for t in _skipped(result))


def _skipped(result: Replayed) -> list[Trial]:
    return [t for t in result.findings.history.trials if isinstance(t.reason, PerformanceBound)]


def _gain_covered(result: Replayed) -> bool | None:
    findings, rates = result.findings, result.world.rates
    challenger = findings.decision.challenger
    if challenger is None:
        return None
    return covers(findings.decision.gain, rates[challenger] / rates[findings.baseline])
