"""What a search found, and what its verdict rests on."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.checks.certificate import Certificate
from autotune.checks.diagnosis import Diagnosis
from autotune.config import Configuration
from autotune.engine.tasks.between import BetweenEpochs
from autotune.objective import Objective
from autotune.program.patch import NO_PATCH, Patch
from autotune.reason import Outcome
from autotune.result import Alternative
from autotune.result.leaderboard import Entry
from autotune.result.verdict import Decision, Evidence, Verdict, VerdictOutcome
from autotune.search.ending import Interruption
from autotune.search.history import History
from autotune.search.question import SURE_NONE
from autotune.space import why_alone
from autotune.stats import Interval
from autotune.workload import WorkloadFacts


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a search found."""

    recommended: Configuration
    decision: Decision
    baseline: Configuration
    default: Configuration
    entries: tuple[Entry, ...]
    """What the posterior says of all that has shown a speed, the best first."""
    value: Interval
    """What the objective says of what is recommended."""
    gain_over_yours: Interval | None
    """How many times as good as the user's own settings it is."""
    history: History
    facts: WorkloadFacts
    distributable: int
    """Distributed configurations that can run."""
    tried: int
    """Those of them that ran, or were found not to be worth it."""
    asked: bool
    """Whether any distributed one was to be compared, whether it can run or not."""
    excluded: frozenset[Configuration]
    """Those that can run as well, and are not compared."""
    certificate: Certificate | None
    """What was checked of the recommended configuration; None for one device."""
    cut: Interruption | None = None
    """What ended the search early; None where nothing did."""
    diagnosis: Diagnosis | None = None
    """Where the time of a step goes; found out last, if there is time."""
    patch: Patch = NO_PATCH
    """What to change in the user's script."""
    patch_speed: float | None = None
    """Examples per second of the changed script, as a multiple; found out likewise."""
    between: BetweenEpochs | None = None
    """What the recommended program does between two epochs, likewise."""

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped early."""
        return self.cut is not None

    @property
    def examples_per_second(self) -> Interval:
        """Throughput of the recommended configuration."""
        mine = (e for e in self.entries if e.configuration == self.recommended)
        return next(mine).examples_per_second


def evidence(findings: Findings, objective: Objective) -> Evidence:
    """Return what the verdict of a search rests on."""
    history = findings.history
    return Evidence(
        outcome=outcome(findings),
        decision=findings.decision,
        default=findings.default,
        tried=findings.tried,
        distributable=findings.distributable,
        noise=history.noise,
        quantity=objective.title,
        adjective=objective.adjective,
        value=_in_short(findings.value, objective),
        repeats=history.repeats,
    )


def _in_short(value: Interval, objective: Objective) -> str:
    low, high = objective.short(value.low), objective.short(value.high)
    return f"{objective.short(value.value)} ({low} to {high})"


def outcome(findings: Findings) -> VerdictOutcome:
    """Return how a search came to its verdict."""
    decision = findings.decision
    if decision.verdict is Verdict.DISTRIBUTE:
        return VerdictOutcome.GAIN
    if decision.verdict is Verdict.UNDECIDED:
        return _open(findings)
    if decision.gain is None:
        return _without_comparison(findings)
    return VerdictOutcome.NO_GAIN if decision.none >= SURE_NONE else VerdictOutcome.SMALL_LOSS


def _open(findings: Findings) -> VerdictOutcome:
    decision = findings.decision
    if decision.hosts_lost:
        return VerdictOutcome.HOSTS_LOST
    if decision.gain is None:
        return _without_gain(findings)
    if findings.recommended.distributed:
        return VerdictOutcome.LIKELIER_DISTRIBUTE
    leads = decision.gain.value > 1
    return VerdictOutcome.NOT_CERTIFIED if leads else VerdictOutcome.LIKELIER_STAY


def _without_comparison(findings: Findings) -> VerdictOutcome:
    trials = [t for t in findings.history.trials if t.configuration not in findings.excluded]
    if not findings.distributable and why_alone(findings.facts):
        return VerdictOutcome.MODEL_ALONE
    if not findings.distributable:
        if any(each.distributed for each in findings.excluded):
            return VerdictOutcome.OTHER_BATCHES
        return (
            VerdictOutcome.NOT_DISTRIBUTABLE if findings.asked else VerdictOutcome.ONLY_ONE_DEVICE
        )
    if any(trial.outcome is Outcome.REJECTED for trial in trials):
        return VerdictOutcome.REJECTED
    several = [e for e in findings.entries if e.configuration.distributed]
    if not several:
        return VerdictOutcome.PROVED_SLOWER
    slower = all(e.speedup is not None and e.speedup.value < 1 for e in several)
    return VerdictOutcome.SLOWER if slower else VerdictOutcome.NOT_AHEAD


def _without_gain(findings: Findings) -> VerdictOutcome:
    several = [t for t in findings.history.trials if t.configuration.distributed]
    ended = [t for t in several if t.outcome not in (Outcome.SKIPPED, Outcome.UNFINISHED)]
    if ended and all(t.outcome is Outcome.PRUNED for t in ended):
        return VerdictOutcome.SLOWER_SO_FAR
    # What was measured, and is not compared, has a batch that is not shown to pay.
    broke = ended and not any(t.measured or t.outcome is Outcome.PRUNED for t in ended)
    return VerdictOutcome.NOT_MEASURED if broke else VerdictOutcome.NOT_TRIED


def speedup(findings: Findings) -> Interval | None:
    """Return how many times faster the best distributed configuration is than one device.

    None if none was measured.
    """
    several = [e for e in findings.entries if e.configuration.distributed]
    measured = (e for e in several if e.outcome is Outcome.MEASURED)
    chosen = findings.recommended
    wanted = (e for e in measured if not chosen.distributed or e.configuration == chosen)
    return next((e.speedup for e in wanted), None)


def unchanged_batch(findings: Findings) -> Alternative | None:
    """Return the fastest measured configuration with the global batch of the defaults.

    None where the recommended one has it, or nothing with it was measured.
    """
    usual, chosen = findings.default.global_batch, findings.recommended
    if chosen.global_batch == usual:
        return None
    mine = (e for e in findings.entries if e.configuration.global_batch == usual)
    best = next((e for e in mine if e.outcome is Outcome.MEASURED), None)
    if best is None:
        return None
    rate = best.examples_per_second
    return Alternative(
        configuration=best.configuration,
        examples_per_second=rate,
        share=rate.value / findings.examples_per_second.value,
    )
