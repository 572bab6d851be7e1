"""What a search found, and what its verdict rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autotune.checks.certificate import Certificate
from autotune.checks.diagnosis import Diagnosis
from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.engine.tasks.train import BetweenEpochs
from autotune.errors import NothingMeasured
from autotune.objective import Objective, Scorer
from autotune.program.patch import NO_PATCH, Patch
from autotune.reason import BudgetEnded, Outcome, Rule, RuleKind
from autotune.reason.sentences import reason_text
from autotune.result.leaderboard import Entry
from autotune.result.verdict import Decision, Evidence, Verdict, VerdictOutcome
from autotune.search.belief import Learner
from autotune.search.history import History
from autotune.search.question import DRAWS, SURE_NONE, interval_of
from autotune.search.stopping import Interruption
from autotune.space import ONE_DEVICE, Candidates, why_alone
from autotune.stats.intervals import Interval
from autotune.text import at_least
from autotune.trial import Stage, Trial, sustained
from autotune.workload import WorkloadFacts


@dataclass(frozen=True, kw_only=True)
class Findings:
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
    candidates: Candidates
    certificate: Certificate | None
    """What was checked of the recommended configuration; None for one device."""
    cut: Interruption | None = None
    """What ended the search early; None where nothing did."""
    diagnosis: Diagnosis | None = None
    """Where the time of a step goes; found out last, if there is time."""
    patch: Patch = NO_PATCH
    """What to change in the user's script; what that gains is found out likewise."""
    between: BetweenEpochs | None = None
    """What the recommended program does between two epochs, likewise."""

    @property
    def examples_per_second(self) -> Interval:
        """Throughput of the recommended configuration."""
        mine = (e for e in self.entries if e.configuration == self.recommended)
        return next(mine).examples_per_second


class Drawn:
    """Scores of all that has shown a speed, drawn from the posterior of all trials so far.

    Some ratios were told with the answer: a table of other draws would differ in their digits.
    """

    def __init__(
        self, learner: Learner, ratios: Mapping[tuple[Configuration, Configuration], Interval]
    ) -> None:
        posterior = learner.learn()
        rows = [*dict.fromkeys(run.row for run in learner.runs)]
        draws = posterior.joint(rows, lasting=True).draw(DRAWS, 0, range(len(rows)))
        order = draws.mean(0)
        best_first = sorted(range(len(rows)), key=lambda k: -order[k])
        self._learner, self._ratios = learner, ratios
        self.logs = {learner.pool[rows[k]]: draws[:, k] for k in best_first}
        """Draws of log(score), the best first."""

    def ratio(self, one: Configuration, other: Configuration) -> Interval | None:
        """Return how many times better one is; None where one of them has shown nothing."""
        if (one, other) in self._ratios:
            return self._ratios[one, other]
        if not {one, other} <= self.logs.keys():
            return None
        return interval_of(self.logs[one] - self.logs[other])

    def entries(self, scorer: Scorer, baseline: Configuration) -> Iterator[Entry]:
        """Yield the rows of the table, compared with the best single device.

        The scorer tells examples per second from scores.
        """
        rejected = self._learner.history.ruled_out.rejected
        for c, logs in self.logs.items():
            runs = [each for each in self._learner.counting if each.configuration == c]
            yield Entry(
                configuration=c,
                examples_per_second=sustained(interval_of(logs - scorer.log_offset(c)), runs),
                speedup=self.ratio(c, baseline),
                outcome=Outcome.REJECTED if rejected(c) else runs[-1].outcome,
                runs=len(runs),
            )


def evidence(findings: Findings, objective: Objective, load: Load | None) -> Evidence:
    history, found = findings.history, findings.value
    value, low, high = map(objective.short, (found.value, found.low, found.high))
    return Evidence(
        outcome=outcome(findings),
        decision=findings.decision,
        rule=_rule(findings),
        default=findings.default,
        noise=history.noise,
        quantity=objective.title,
        adjective=objective.adjective,
        value=f"{value} ({low} to {high})",
        repeats=sum(len(logs) - 1 for logs in history.repeated),
        load=load,
    )


def _rule(findings: Findings) -> Rule | None:
    """Return what keeps distributed configurations from running, where none can."""
    found = findings.candidates
    if found.distributed:
        return None
    limits = [each for each in found.limits if each.strategy != ONE_DEVICE]
    of_batch = [each for each in limits if each.rule.kind is RuleKind.INDIVISIBLE_BATCH]
    most = max(of_batch or limits, key=lambda each: each.configurations, default=None)
    return why_alone(findings.facts) or (most.rule if most else None)


def outcome(findings: Findings) -> VerdictOutcome:
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
    found = findings.candidates
    if not found.distributed:
        if why_alone(findings.facts):
            return VerdictOutcome.MODEL_ALONE
        if any(each.distributed for each in found.excluded):
            return VerdictOutcome.OTHER_BATCHES
        asked = any(limit.strategy != ONE_DEVICE for limit in found.limits)
        return VerdictOutcome.NOT_DISTRIBUTABLE if asked else VerdictOutcome.ONLY_ONE_DEVICE
    rejected = (t for t in findings.history.trials if t.outcome is Outcome.REJECTED)
    if any(t.configuration not in found.excluded for t in rejected):
        return VerdictOutcome.REJECTED
    slower = _was_slower(findings)
    if slower is None:
        return VerdictOutcome.PROVED_SLOWER
    return VerdictOutcome.SLOWER if slower else VerdictOutcome.NOT_AHEAD


def _without_gain(findings: Findings) -> VerdictOutcome:
    several = [t for t in findings.history.trials if t.configuration.distributed]
    ended = [t for t in several if t.outcome not in (Outcome.SKIPPED, Outcome.UNFINISHED)]
    if _was_slower(findings):
        return VerdictOutcome.SLOWER_SO_FAR
    # What was faster, and is not compared, has a batch that is not shown to pay.
    broke = ended and not any(t.measured or t.outcome is Outcome.PRUNED for t in ended)
    return VerdictOutcome.NOT_MEASURED if broke else VerdictOutcome.NOT_TRIED


def _was_slower(findings: Findings) -> bool | None:
    """Return whether all that ran distributed was slower than one device; None if nothing did."""
    several = [e for e in findings.entries if e.configuration.distributed]
    if not several:
        return None
    return all(e.speedup is not None and e.speedup.value < 1 for e in several)


def nothing_measured(trials: Sequence[Trial], earlier: int, elapsed: float) -> NothingMeasured:
    """Return why a search has nothing to say, by its trials on one device.

    The first ones are of earlier sessions; what went wrong in this one is told first.
    """
    failed = [
        t
        for t in (*trials[earlier:], *trials[:earlier])
        if t.stage is Stage.BASELINE and not t.measured and not isinstance(t.reason, BudgetEnded)
    ]
    if not failed:
        ends = (t.reason for t in reversed(trials) if isinstance(t.reason, BudgetEnded))
        where = reason_text(next(ends, None) or BudgetEnded())
        where = where.removeprefix("the budget ran out ")
        return NothingMeasured(
            f"Nothing was measured: the budget ran out {where} (your own configuration).",
            f"Use a budget of {at_least(2 * elapsed)} or more.",
        )
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one "
        f"{failed[0].outcome.verb}: {reason_text(failed[0].reason).rstrip('.')}.",
        "Fix this and try again.",
    )
