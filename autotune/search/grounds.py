"""What a verdict rests on, as values for the result."""

from __future__ import annotations

from autotune.objective import Objective
from autotune.reason import Outcome
from autotune.result import Alternative
from autotune.result.leaderboard import Leaderboard
from autotune.result.verdict import Conclusion, Grounds, Verdict
from autotune.search.search import Findings
from autotune.space import why_alone
from autotune.stats import Interval


def grounds(findings: Findings, objective: Objective) -> Grounds:
    """Return what the verdict of a search rests on."""
    history, matched = findings.history, findings.matched
    return Grounds(
        conclusion=conclusion(findings),
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


def conclusion(findings: Findings) -> Conclusion:
    """Return how a search came to its verdict."""
    decision = findings.decision
    undecided = decision.verdict is Verdict.UNDECIDED
    if undecided and findings.recommended.distributed:
        return Conclusion.LIKELY
    if undecided and findings.interrupted and decision.gain is None:
        return Conclusion.NO_FINALS
    if undecided:
        return _undecided(findings)
    if decision.gain is None:
        return _without_comparison(findings)
    return Conclusion.GAIN if decision.verdict is Verdict.DISTRIBUTE else Conclusion.NO_GAIN


def _without_comparison(findings: Findings) -> Conclusion:
    trials = [t for t in findings.history.trials if t.configuration not in findings.aside]
    if not findings.distributable and why_alone(findings.facts):
        return Conclusion.MODEL_ALONE
    if not findings.distributable:
        if any(each.distributed for each in findings.aside):
            return Conclusion.OTHER_BATCHES
        return Conclusion.NOT_DISTRIBUTABLE if findings.asked else Conclusion.ONLY_ONE_DEVICE
    if any(trial.outcome is Outcome.REJECTED for trial in trials):
        return Conclusion.REJECTED
    ran = any(trial.configuration.distributed and trial.windows for trial in trials)
    return Conclusion.SLOWER if ran else Conclusion.PROVED_SLOWER


def _undecided(findings: Findings) -> Conclusion:
    decision = findings.decision
    if decision.hosts_lost or decision.few_tried:
        return Conclusion.HOSTS_LOST if decision.hosts_lost else Conclusion.FEW_TRIED
    if decision.gain is None:
        return _without_gain(findings)
    if decision.levels:
        return Conclusion.LEVELS
    if not decision.certified:
        return Conclusion.NOT_CERTIFIED
    if decision.rival is not None:
        return Conclusion.RIVALED
    return Conclusion.NOT_SIGNIFICANT if decision.gain.low > 1 else Conclusion.AT_MOST


def _without_gain(findings: Findings) -> Conclusion:
    history = findings.history
    several = [t for t in history.trials if t.configuration.distributed]
    if any(history.score(trial) for trial in several):
        return Conclusion.NOT_COMPARED
    left = (Outcome.SKIPPED, Outcome.UNFINISHED)
    ended = [t for t in several if t.outcome not in left and not t.measured]
    return Conclusion.NOT_MEASURED if ended else Conclusion.NOT_TRIED


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
