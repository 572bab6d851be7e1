"""Why: the verdict and its grounds, in sentences built on figures."""

from __future__ import annotations

from autotune.config import Configuration, axes, default_of
from autotune.measure import Interval
from autotune.recommendation import Verdict
from autotune.run.engine import Outcome
from autotune.search.history import History
from autotune.search.search import Findings
from autotune.strategies import strategy
from autotune.trial import Trial


def summary(findings: Findings, margin: float) -> str:
    """Return the verdict as one sentence."""
    decision = findings.decision
    if findings.interrupted:
        return "Interrupted before the finals: the best single device so far, not confirmed."
    if decision.verdict is Verdict.DISTRIBUTE and decision.gain and decision.challenger:
        return (
            f"Distribute: {title(decision.challenger)} is {factor(decision.gain)} as fast as the "
            "best single device."
        )
    if decision.verdict is Verdict.UNDECIDED:
        return _undecided(findings)
    if decision.gain and decision.challenger:
        return (
            f"Stay on one device: the best distributed configuration, "
            f"{title(decision.challenger)}, reaches {factor(decision.gain)} its throughput, "
            f"so there is no gain of {margin:.0%} or more."
        )
    if any(c.distributed for c in findings.history.tried):
        return "Stay on one device: every distributed configuration that ran was certainly slower."
    return "Stay on one device: nothing here to distribute over."


def reasons(findings: Findings, user_batch: int | None) -> tuple[str, ...]:
    """Return the grounds of the verdict, the most important first.

    Args:
        findings: What the search found.
        user_batch: The global batch that the user holds fixed, if any.
    """
    found = [
        *_distributed(findings),
        *_tuning(findings),
        *_failures(findings.history),
        *_batch(findings, user_batch),
        _noise(findings.history),
    ]
    return tuple(found)


def _noise(history: History) -> str:
    return (
        f"Two fresh runs of the same configuration differ by {history.noise.sd:.0%} here (standard "
        "deviation); every interval counts it."
    )


def title(configuration: Configuration) -> str:
    """Return how a configuration is distributed, in a few words."""
    name = strategy(configuration.strategy).title
    if not configuration.distributed:
        return name
    if configuration.workers > 1:
        return f"{name} with {configuration.workers} workers"
    return f"{name} with {configuration.replicas} replicas"


def factor(interval: Interval) -> str:
    """Return a ratio with its interval: `1.34 times (1.21 to 1.48)`."""
    return f"{interval.value:.2f} times ({interval.low:.2f} to {interval.high:.2f})"


def differences(configuration: Configuration) -> str:
    """Return what a configuration sets away from the defaults, in a line."""
    pairs = [(name, getattr(configuration, name)) for name in axes() if name != "strategy"]
    changed = [f"{name} {value}" for name, value in pairs if value != default_of(name)]
    own = [f"{name} {value}" for name, value in configuration.arguments]
    return ", ".join(changed + own) or "all defaults"


def _undecided(findings: Findings) -> str:
    gain = findings.decision.gain
    if gain is None:
        return "Undecided: the budget ended before the finals could compare; stay on one device."
    return (
        f"Undecided after {findings.decision.rounds} rounds: distribution may gain at most "
        f"{max(gain.high - 1, 0):.0%}; stay on one device, or give a larger budget."
    )


def _distributed(findings: Findings) -> list[str]:
    """The best of each distributed strategy against one device, as exploration saw it."""
    history, lines = findings.history, []
    reference = history.estimate(findings.yardstick).value
    best: dict[str, tuple[float, Trial]] = {}
    for trial in history.trials:
        if trial.configuration.distributed and trial.examples_per_second:
            name = trial.configuration.strategy
            share = trial.examples_per_second / reference
            if name not in best or share > best[name][0]:
                best[name] = share, trial
    for share, trial in best.values():
        verb = "was stopped at" if trial.outcome is Outcome.PRUNED else "reached"
        lines.append(
            f"{title(trial.configuration)} {verb} {share:.0%} of one device in its best trial "
            f"({differences(trial.configuration)})."
        )
    return lines


def _tuning(findings: Findings) -> list[str]:
    gain = findings.over_default
    if findings.recommended == findings.default:
        return ["Keras's own settings were already the best."]
    if gain is None:
        return []
    chosen, default = differences(findings.recommended), differences(findings.default)
    text = (
        f"The recommended settings ({chosen}) are {factor(gain)} as fast as the defaults on one "
        f"device ({default})."
    )
    return [text]


def _failures(history: History) -> list[str]:
    bad = (Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED, Outcome.UNSTEADY)
    return [
        f"Trial {t.number} ({title(t.configuration)}, {differences(t.configuration)}) "
        f"{t.outcome}: {t.reason}"
        for t in history.trials
        if t.outcome in bad
    ]


def _batch(findings: Findings, user_batch: int | None) -> list[str]:
    batch, usual = findings.recommended.global_batch, findings.default.global_batch
    if user_batch is not None or batch == usual:
        return []
    text = (
        f"The global batch is {batch} instead of {usual}, which trains differently: scale the "
        "learning rate and warm it up, or hold the batch fixed with --global-batch."
    )
    return [text]
