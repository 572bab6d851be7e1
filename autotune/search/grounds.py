"""What a verdict rests on, as values for the result."""

from __future__ import annotations

from autotune.objective import Objective
from autotune.reason import Outcome
from autotune.result import Alternative
from autotune.result.leaderboard import Leaderboard
from autotune.result.verdict import Evidence, Verdict, VerdictOutcome
from autotune.search.search import Findings
from autotune.space import why_alone
from autotune.stats import Interval


def evidence(findings: Findings, objective: Objective) -> Evidence:
    """Return what the verdict of a search rests on."""
    history, matched = findings.history, findings.matched
    return Evidence(
        outcome=outcome(findings),
        decision=findings.decision,
        default=findings.default,
        tried=findings.tried,
        distributable=findings.distributable,
        unmatched_batch=matched.global_batch if matched else None,
        noise=history.noise,
        prior=history.expected.exploring,
        quantity=objective.title,
        adjective=objective.adjective,
        value=_in_short(findings.value, objective) if findings.value else "",
        repeats=history.repeats,
    )


def _in_short(value: Interval, objective: Objective) -> str:
    low, high = objective.short(value.low), objective.short(value.high)
    return f"{objective.short(value.value)} ({low} to {high})"


def outcome(findings: Findings) -> VerdictOutcome:
    """Return how a search came to its verdict."""
    decision = findings.decision
    undecided = decision.verdict is Verdict.UNDECIDED
    if undecided and findings.recommended.distributed:
        return VerdictOutcome.LIKELY
    if undecided and findings.interrupted and decision.gain is None:
        return VerdictOutcome.NO_FINALS
    if undecided:
        return _undecided(findings)
    if decision.gain is None:
        return _without_comparison(findings)
    return VerdictOutcome.GAIN if decision.verdict is Verdict.DISTRIBUTE else VerdictOutcome.NO_GAIN


def _without_comparison(findings: Findings) -> VerdictOutcome:
    trials = [t for t in findings.history.trials if t.configuration not in findings.aside]
    if not findings.distributable and why_alone(findings.facts):
        return VerdictOutcome.MODEL_ALONE
    if not findings.distributable:
        if any(each.distributed for each in findings.aside):
            return VerdictOutcome.OTHER_BATCHES
        return (
            VerdictOutcome.NOT_DISTRIBUTABLE if findings.asked else VerdictOutcome.ONLY_ONE_DEVICE
        )
    if any(trial.outcome is Outcome.REJECTED for trial in trials):
        return VerdictOutcome.REJECTED
    ran = any(trial.configuration.distributed and trial.windows for trial in trials)
    return VerdictOutcome.SLOWER if ran else VerdictOutcome.PROVED_SLOWER


def _undecided(findings: Findings) -> VerdictOutcome:
    decision = findings.decision
    if decision.hosts_lost or decision.few_tried:
        return VerdictOutcome.HOSTS_LOST if decision.hosts_lost else VerdictOutcome.FEW_TRIED
    if decision.gain is None:
        return _without_gain(findings)
    if decision.bimodal:
        return VerdictOutcome.BIMODAL
    if not decision.certified:
        return VerdictOutcome.NOT_CERTIFIED
    if decision.contender is not None:
        return VerdictOutcome.CONTENDED
    return VerdictOutcome.NOT_SIGNIFICANT if decision.gain.low > 1 else VerdictOutcome.AT_MOST


def _without_gain(findings: Findings) -> VerdictOutcome:
    history = findings.history
    several = [t for t in history.trials if t.configuration.distributed]
    if any(history.score(trial) for trial in several):
        return VerdictOutcome.NOT_COMPARED
    left = (Outcome.SKIPPED, Outcome.UNFINISHED)
    ended = [t for t in several if t.outcome not in left and not t.measured]
    return VerdictOutcome.NOT_MEASURED if ended else VerdictOutcome.NOT_TRIED


def speedup(findings: Findings, board: Leaderboard) -> Interval | None:
    """Return how many times faster the best distributed configuration is than one device.

    As the finals say, or exploration where none was compared there; None if none was measured.
    """
    decision, chosen = findings.decision, findings.recommended
    if decision.gain and (chosen == decision.challenger or not chosen.distributed):
        return decision.gain
    several = (e for e in board.rows() if e.configuration.distributed)
    measured = (e for e in several if e.outcome is Outcome.MEASURED)
    wanted = (e for e in measured if not chosen.distributed or e.configuration == chosen)
    return next((e.speedup for e in wanted), None)


def unchanged_batch(findings: Findings) -> Alternative | None:
    """Return the fastest measured configuration with the global batch of the defaults.

    None where the recommended one has it, or nothing with it was measured.
    """
    usual, history = findings.default.global_batch, findings.history
    if findings.recommended.global_batch == usual:
        return None
    ranked = [*history.ranked(distributed=False), *history.ranked(distributed=True)]
    scores = {c: history.estimate(c).value for c in ranked if c.global_batch == usual}
    if not scores:
        return None
    best = max(scores, key=lambda c: scores[c])
    return Alternative(
        configuration=best,
        examples_per_second=history.throughput(best),
        share=scores[best] / history.estimate(findings.recommended).value,
    )
