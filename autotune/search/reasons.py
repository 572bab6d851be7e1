"""Why: the verdict and its grounds, in sentences built on figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from autotune.config import Configuration
from autotune.diagnose.sentences import limits, waits_for_input, where_it_goes, where_it_pays
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.reason import Proof, Reason
from autotune.result import Verdict
from autotune.run.engine import Outcome
from autotune.search.batch import learning_rate, unchanged_batch
from autotune.search.history import EXPLORED, History
from autotune.search.numbers import settled
from autotune.search.search import Findings
from autotune.sentences.reasons import reason_text
from autotune.strategies import strategy, title


def summary(findings: Findings, margin: float) -> str:
    """Return the verdict as one sentence, or two if the search was interrupted."""
    text = _verdict(findings, margin)
    if not findings.interrupted:
        return text
    if findings.decision.gain is None:
        return (
            "Interrupted before the finals: the best single-device configuration so far, not "
            "confirmed."
        )
    return f"{text} Interrupted after {_rounds(findings)} of the finals."


def _verdict(findings: Findings, margin: float) -> str:
    decision = findings.decision
    if decision.verdict is Verdict.UNDECIDED:
        return _undecided(findings)
    if decision.gain is None or decision.challenger is None:
        return _nothing_to_compare(findings)
    gain, name = factor(decision.gain), title(decision.challenger)
    if decision.verdict is Verdict.DISTRIBUTE:
        return f"Distribute: {name} is {gain} as fast as the best single device."
    return (
        f"Stay on one device: the best distributed configuration, {name}, reaches {gain} the "
        f"single-device throughput; no gain of {margin:.0%} or more."
    )


def _nothing_to_compare(findings: Findings) -> str:
    if not findings.distributable:
        return "Stay on one device: no distributed configuration can run on this machine."
    if any(trial.outcome is Outcome.REJECTED for trial in findings.history.trials):
        return "Stay on one device: the faster distributed configuration failed certification."
    ran = [t for t in findings.history.trials if t.configuration.distributed and t.windows]
    if not ran:
        return "Stay on one device: no distributed configuration can be faster."
    return "Stay on one device: every distributed configuration that ran was significantly slower."


def reasons(findings: Findings, user_batch: int | None, machine: Machine) -> tuple[str, ...]:
    """Return the grounds of the verdict, the most important first.

    Args:
        findings: What the search found.
        user_batch: The global batch that the user holds fixed, if any.
        machine: Where it was found.
    """
    found = [
        *_changed_training(findings),
        *_batch(findings, user_batch),
        *_certified(findings),
        *_wrong(findings.history),
        *_distributed(findings),
        *_tuning(findings),
        *_diagnosed(findings),
        *settled(findings.automatic),
        *_proofs(findings.history),
        *_failures(findings.history),
        *_memory(findings.history, machine),
        *_twin(findings),
        _noise(findings.history),
    ]
    return tuple(found)


def _certified(findings: Findings) -> tuple[str, ...]:
    certificate = findings.certificate
    return () if certificate is None else (certificate.line, *certificate.undecided)


def _wrong(history: History) -> list[str]:
    """What was out, although it seemed faster."""
    return [
        f"{title(trial.configuration)} failed certification (trial {trial.number}): "
        f"{reason_text(trial.reason)}"
        for trial in history.trials
        if trial.outcome is Outcome.REJECTED
    ]


def _diagnosed(findings: Findings) -> Iterator[str]:
    diagnosis = findings.diagnosis
    if diagnosis is None:
        return
    both = {"one device": diagnosis.one_device}
    if diagnosis.distributed:
        both[title(diagnosis.distributed.configuration)] = diagnosis.distributed
    for name, found in both.items():
        told = where_it_goes(found, name)
        if told:
            yield " ".join([told, *limits(found, findings.facts)])
    if diagnosis.break_even:
        name = title(diagnosis.break_even.configuration)
        waits = waits_for_input(diagnosis.distributed)
        yield from where_it_pays(diagnosis.break_even, name, waits=waits)


def _noise(history: History) -> str:
    if not history.repeats:
        return f"Run-to-run variation was not measured; {history.expected.sd:.0%} is assumed."
    repeats = f"{history.repeats} repeat{'s' * (history.repeats != 1)}"
    return (
        f"Run-to-run variation is {history.noise.sd:.0%} (standard deviation, from {repeats} and "
        f"a prior of {history.expected.sd:.0%})."
    )


def _rounds(findings: Findings) -> str:
    count = findings.decision.rounds
    return f"{count} round{'s' * (count != 1)}"


def factor(interval: Interval) -> str:
    """Return a ratio with its interval: `1.34 times (1.21 to 1.48)`."""
    return f"{interval.value:.2f} times ({interval.low:.2f} to {interval.high:.2f})"


def differences(configuration: Configuration) -> str:
    """Return what a configuration sets away from the defaults, in a line."""
    changed = configuration.changed()
    changed.pop("strategy", None)
    return ", ".join(f"{name} {value}" for name, value in changed.items()) or "all defaults"


def _undecided(findings: Findings) -> str:
    decision = findings.decision
    if decision.gain is not None and not decision.certified:
        return (
            f"Undecided after {_rounds(findings)}: a gain is likely ({factor(decision.gain)}), "
            "but its training was not certified; stay on one device, or continue with --resume."
        )
    if decision.gain is None:
        return f"Undecided: {_why_uncompared(findings)}; stay on one device."
    if decision.rival is not None:
        return (
            f"Undecided after {_rounds(findings)}: distribution is {factor(decision.gain)} as "
            "fast as one device, but other single-device settings may be as fast "
            f"({differences(decision.rival)}); increase the budget."
        )
    if decision.gain.low > 1:
        return (
            f"Undecided after {_rounds(findings)}: a gain is likely ({factor(decision.gain)}), "
            "but not significant; increase the budget."
        )
    return (
        f"Undecided after {_rounds(findings)}: distribution may gain at most "
        f"{max(decision.most - 1, 0):.0%}; stay on one device, or increase the budget."
    )


def _why_uncompared(findings: Findings) -> str:
    tried = [t for t in findings.history.trials if t.configuration.distributed]
    if not tried:
        return "the budget ran out before a distributed configuration was tried"
    if not any(trial.examples_per_second for trial in tried):
        return "no distributed configuration could be measured"
    return "the finals could not compare it with one device"


def _distributed(findings: Findings) -> list[str]:
    """The best of each distributed strategy against one device, as exploration saw it."""
    history, lines = findings.history, []
    reference = history.estimate(findings.baseline).value
    best: dict[str, tuple[float, Configuration]] = {}
    for configuration, shown in history.observed().items():
        name, rate = configuration.strategy, math.exp(shown.log_score)
        if configuration.distributed and rate > best.get(name, (0.0, None))[0]:
            best[name] = rate, configuration
    for rate, configuration in best.values():
        lost = _lost(history, configuration)
        price = f"; {lost:.0%} of the updates were lost from optimizer.iterations" if lost else ""
        lines.append(
            f"{EXPLORED}{title(configuration)} reached {rate / reference:.0%} of the "
            f"single-device throughput ({differences(configuration)}){price}."
        )
    return lines


def _changed_training(findings: Findings) -> list[str]:
    chosen = findings.recommended
    if not strategy(chosen.strategy).asynchronous:
        return []
    lost = _lost(findings.history, chosen)
    told = (
        (f" {lost:.0%} of the updates were lost from optimizer.iterations.")
        if lost is not None
        else ""
    )
    text = (
        f"{strategy(chosen.strategy).title} trains asynchronously: workers do not wait for each "
        f"other, so gradients may be stale.{told} Compare the trained model with single-device "
        "training before relying on it."
    )
    return [text]


def _lost(history: History, configuration: Configuration) -> float | None:
    """Return the mean share of updates that the trials of a configuration lost, if it can."""
    mine = [trial for trial in history.trials if trial.configuration == configuration]
    shares = [trial.lost_updates for trial in mine if trial.lost_updates is not None]
    return fmean(shares) if shares else None


def _memory(history: History, machine: Machine) -> list[str]:
    """What remains where the model does not fit: its variables in several places."""
    full = [t for t in history.trials if t.outcome is Outcome.OUT_OF_MEMORY]
    if all(strategy(t.configuration.strategy).asynchronous for t in full):
        return []
    return [_SERVERS_INSTEAD_OF_GPUS if len(machine.gpus) > 1 else _SERVERS_ELSEWHERE]


def _tuning(findings: Findings) -> list[str]:
    alone = [c for c in findings.history.tried if not c.distributed]
    if findings.recommended == findings.default:
        best = "The Keras defaults were the fastest settings tried on one device."
        return [best] if len(alone) > 1 else ["Only the Keras defaults were tried."]
    gain = findings.over_default
    if gain is None:
        return []
    chosen, default = differences(findings.recommended), differences(findings.default)
    text = (
        f"The recommended settings ({chosen}) are {factor(gain)} as fast as the defaults on one "
        f"device ({default})."
    )
    return [text]


def _proofs(history: History) -> list[str]:
    """Each proof is told once, with its first trial."""
    found: dict[str, int] = {}
    for trial in history.trials:
        if isinstance(trial.reason, Proof):
            found.setdefault(
                f"{title(trial.configuration)} {reason_text(trial.reason)}", trial.number
            )
    return [f"{text} (trial {number})." for text, number in found.items()]


def _failures(history: History) -> list[str]:
    """Failures with one cause are told once."""
    bad = (Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED, Outcome.UNSTABLE)
    causes: dict[tuple[Outcome, str, Reason], list[int]] = {}
    for t in history.trials:
        if t.outcome in bad:
            causes.setdefault((t.outcome, title(t.configuration), t.reason), []).append(t.number)
    return [
        f"{name} {outcome.verb} in trial{'s' * (len(numbers) > 1)} "
        f"{', '.join(map(str, numbers))}: {reason_text(reason)}"
        for (outcome, name, reason), numbers in causes.items()
    ]


_SERVERS_INSTEAD_OF_GPUS = (
    "ParameterServerStrategy keeps the variables on parameter servers instead of the GPUs, but "
    "trains asynchronously; --allow-asynchronous includes it in the search."
)
_SERVERS_ELSEWHERE = (
    "Parameter servers on several hosts can hold the variables; on this machine that saves no "
    "memory."
)


def _batch(findings: Findings, user_batch: int | None) -> list[str]:
    chosen, usual = findings.recommended, findings.default.global_batch
    apart = strategy(chosen.strategy).asynchronous
    batch = chosen.per_replica_batch if apart else chosen.global_batch
    if user_batch is not None or batch == usual:
        return []
    advice = learning_rate(findings.facts.optimizer, batch / usual)
    found = [
        (f"The global batch is {batch} instead of {usual}, which changes convergence: {advice}.")
    ]
    other = unchanged_batch(findings)
    if other is None:
        return [*found, f"--global-batch {usual} keeps it unchanged."]
    how = f"{title(other.configuration)}, {differences(other.configuration)}"
    beside = (
        f"At a global batch of {usual} the fastest configuration tried ({how}) reaches "
        f"{other.share:.0%} of this throughput; --global-batch {usual} searches only there."
    )
    return [*found, beside]


def _twin(findings: Findings) -> list[str]:
    if findings.twin is None or findings.decision.verdict is not Verdict.DISTRIBUTE:
        return []
    text = (
        f"One device was not measured at the global batch of {findings.twin.global_batch}; part "
        "of the gain may come from the larger batch."
    )
    return [text]
