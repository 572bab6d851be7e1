"""The verdict and its reasons in sentences, from the values of a result.

A training with k times as many examples in a step usually takes a learning rate that is k times as
large with SGD (Goyal et al., 2017, "Accurate, Large Minibatch SGD"), the square root of k times
with Adam and its relatives (Malladi et al., 2022, "On the SDEs and Scaling Rules for Adaptive
Gradient Algorithms"), reached over the first epochs; past a critical batch it takes more examples
for the same loss (McCandlish et al., 2018).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from autotune.checks.breakdown import LIMITS
from autotune.config import Configuration
from autotune.durations import at_least
from autotune.engine.load import remark
from autotune.program import epoch_in_words
from autotune.reason import Outcome, Proof, Reason
from autotune.reason.sentences import reason_text, rule_text
from autotune.report.cost import cost_lines
from autotune.report.learning import learning_lines
from autotune.report.profile import callbacks_in_words, profile
from autotune.result import Result
from autotune.result.leaderboard import Entry
from autotune.result.verdict import Conclusion
from autotune.space import why_alone
from autotune.stats.efficiency import learning_rate_factor
from autotune.stats.gradients import RULES, UpdateRule
from autotune.strategies import distribution, in_short, strategy, title, update_batch
from autotune.trial import Trial
from autotune.wording import plural, rate, times
from autotune.workload import own_batch

FAILURES = (
    Outcome.OUT_OF_MEMORY,
    Outcome.CRASHED,
    Outcome.HUNG,
    Outcome.FAILED,
    Outcome.UNSTABLE,
)


class Topic(StrEnum):
    """What a reason is about."""

    ASYNCHRONOUS = "asynchronous training"
    EAGER = "eager execution"
    CALLBACKS = "callbacks"
    ACCUMULATION = "accumulation"
    BATCH = "global batch"
    LEARNING = "learning"
    EPOCH = "epoch"
    OWN_STRATEGY = "strategy of the script"
    CERTIFICATE = "certificate"
    REJECTED = "failed certification"
    EXPLORED = "exploration"
    TUNING = "gain over the defaults"
    FASTER = "faster and not recommended"
    LENGTHS = "lengths of examples"
    PROFILE = "profile"
    OBJECTIVE = "value of the objective"
    COST = "cost"
    PROOF = "proof"
    FAILURE = "failure"
    MEMORY = "memory"
    UNMATCHED_BATCH = "unmatched batch"
    NOISE = "noise"
    LOAD = "other programs"


class Told(NamedTuple):
    """A reason in words."""

    topic: Topic
    text: str


def summary(result: Result) -> str:
    """Return the verdict as one sentence, or two if the search was interrupted."""
    found = result.grounds
    text = _CONCLUSIONS[found.conclusion].format(**_figures(result)) + _batch_change(result)
    if result.facts.learning is None and not result.options.global_batch:
        text += " Learning was not looked at."
    if not result.interrupted or found.conclusion is Conclusion.NO_FINALS:
        return text
    return f"{text} Interrupted after {plural(found.decision.rounds, 'round')} of the finals."


def _batch_change(result: Result) -> str:
    """Return which batch and learning rate are not the user's own; nothing where both are."""
    own, batch = (
        own_batch(result.facts, result.options.global_batch).size,
        update_batch(result.config),
    )
    if batch == own:
        return ""
    learning = result.facts.learning
    factor = learning_rate_factor(learning, batch) if learning else 1.0
    rate = "" if factor == 1 else f", the learning rate {factor:.2g} times your own"
    return f" The global batch is {batch:,} instead of your own {own:,}{rate}."


def reasons(result: Result) -> tuple[str, ...]:
    """Return why, one sentence each, the most important first."""
    return tuple(each.text for each in told(result))


def told(result: Result) -> Iterator[Told]:
    """Yield the reasons with what they are about, the most important first."""
    trials = _current(result.trials)
    for topic, texts in {
        Topic.EAGER: _eager(result, trials),
        Topic.OBJECTIVE: _objective(result),
        Topic.COST: cost_lines(result),
        Topic.ASYNCHRONOUS: _asynchronous(result),
        Topic.CALLBACKS: _callbacks(result, trials),
        Topic.ACCUMULATION: _accumulation(result),
        Topic.BATCH: _batch(result),
        Topic.LEARNING: learning_lines(result),
        Topic.EPOCH: _epoch(result),
        Topic.OWN_STRATEGY: _own_strategy(result),
        Topic.CERTIFICATE: _certificate(result),
        Topic.REJECTED: _rejected(trials),
        Topic.EXPLORED: _explored(result),
        Topic.FASTER: _faster(result),
        Topic.TUNING: _tuning(result),
        Topic.LENGTHS: _lengths(result),
        Topic.PROFILE: _profile(result),
        Topic.PROOF: _proofs(trials),
        Topic.FAILURE: _failures(trials),
        Topic.MEMORY: _memory(trials, gpus=len(result.machine.gpus)),
        Topic.UNMATCHED_BATCH: _unmatched_batch(result),
        Topic.NOISE: [_noise(result)],
        Topic.LOAD: filter(None, [remark(result.grounds.load)]),
    }.items():
        yield from (Told(topic, text) for text in texts)


def differences(configuration: Configuration) -> str:
    """Return what a configuration sets away from the defaults, in a line."""
    changed = configuration.changed()
    changed.pop("strategy", None)
    return ", ".join(f"{name} {value}" for name, value in changed.items()) or "all defaults"


def learning_rate(optimizer: str, factor: float) -> str:
    """Return what usually becomes of the learning rate, in words.

    Args:
        optimizer: Name of the optimizer's class.
        factor: The new global batch as a multiple of the old one.
    """
    change = factor if RULES.get(optimizer) is UpdateRule.PLAIN else math.sqrt(factor)
    name = optimizer or "the optimizer"
    if change >= 1:
        return (
            f"usually the learning rate of {name} is multiplied by about {change:.2g}, with a "
            "warm-up over the first epochs"
        )
    return f"usually the learning rate of {name} is divided by about {1 / change:.2g}"


def _figures(result: Result) -> dict[str, str]:
    decision, alone = result.grounds.decision, why_alone(result.facts)
    own = result.grounds.default.global_batch
    return {
        "why": rule_text(alone) if alone else "",
        "name": title(decision.challenger) if decision.challenger else "",
        "gain": times(decision.gain) if decision.gain else "",
        "recommended": title(result.config),
        "likely": times(speedup) if (speedup := result.best_distributed_speedup) else "",
        "rival": differences(decision.rival) if decision.rival else "",
        "rounds": plural(decision.rounds, "round"),
        "tried": str(result.grounds.tried),
        "distributable": str(result.grounds.distributable),
        "margin": f"{result.margin:.0%}",
        "adjective": result.grounds.adjective,
        "better": _compared(result.grounds.adjective, "more"),
        "worse": _compared(result.grounds.adjective, "less"),
        "most": f"{max(decision.most - 1, 0):.0%}",
        "own": f"{own:,}",
        "at_own": f" at a global batch of {own:,}" if result.facts.learning else "",
        "explored": _best_explored(result),
        "more": _more(result),
    }


def _more(result: Result) -> str:
    """Return what makes a search that is undecided decide."""
    seconds = result.grounds.more_seconds
    return f"continue with a budget of {at_least(seconds)}" if seconds else "increase the budget"


def _best_explored(result: Result) -> str:
    """Return the best distributed configuration of the table, and its ratio there."""
    several = (each for each in result.compared if each.configuration.distributed)
    best = next((each for each in several if each.speedup), None)
    if best is None or best.speedup is None:
        return "no distributed configuration was measured"
    return f"{distribution(best.configuration)} was {times(best.speedup)}"


_COMPARED = {
    ("fast", "more"): "faster",
    ("fast", "less"): "slower",
    ("cheap", "more"): "cheaper",
    ("cheap", "less"): "dearer",
}


def _compared(adjective: str, degree: str) -> str:
    """Return how much of a quality something has beside something else, such as `faster`."""
    word, *rest = adjective.split(" ", 1)
    return " ".join([_COMPARED.get((word, degree), f"{degree} {word}"), *rest])


_CONCLUSIONS = {
    Conclusion.GAIN: "Distribute: {name} is {gain} as {adjective} as the best single device.",
    Conclusion.NO_GAIN: (
        "Stay on one device: the best distributed configuration, {name}, is {gain} as {adjective} "
        "as the best single device; no gain of {margin} or more."
    ),
    Conclusion.NOT_DISTRIBUTABLE: (
        "Stay on one device: no distributed configuration can run on this machine."
    ),
    Conclusion.MODEL_ALONE: "Stay on one device: nothing distributed can run, because {why}.",
    Conclusion.ONLY_ONE_DEVICE: (
        "One device: only its settings were compared, as no other strategy was to be tried."
    ),
    Conclusion.OTHER_BATCHES: (
        "Stay on one device: no distributed configuration can run at a global batch of {own}, and "
        "what an example teaches at others is not known."
    ),
    Conclusion.REJECTED: (
        "Stay on one device: the faster distributed configuration failed certification."
    ),
    Conclusion.PROVED_SLOWER: "Stay on one device: no distributed configuration can be {better}.",
    Conclusion.SLOWER: (
        "Stay on one device: every distributed configuration that ran was {worse}."
    ),
    Conclusion.NOT_TRIED: (
        "Undecided: no distributed configuration was measured{at_own} before the search ended; "
        "stay on one device, or {more}."
    ),
    Conclusion.NOT_MEASURED: (
        "Undecided: no distributed configuration could be measured; stay on one device, or {more}."
    ),
    Conclusion.NOT_COMPARED: (
        "Undecided: {explored} as {adjective} as one device, which no finals settled; stay on one "
        "device, or {more}."
    ),
    Conclusion.NOT_CERTIFIED: (
        "Undecided after {rounds}: a gain is likely ({gain}), but its training was not certified; "
        "stay on one device, or continue with --resume."
    ),
    Conclusion.LEVELS: (
        "Undecided after {rounds}: a gain is likely ({gain}), but several processes can start at "
        "one of two levels, and too few runs were seen to tell; {more}."
    ),
    Conclusion.FEW_TRIED: (
        "Undecided ({tried} of {distributable} distributed configurations tried): no gain was "
        "found, but others may gain {margin} or more; stay on one device, or {more}."
    ),
    Conclusion.HOSTS_LOST: (
        "Undecided: machines were lost, and configurations that need them may gain {margin} or "
        "more; stay on one device, or start them again and continue with --resume."
    ),
    Conclusion.RIVALED: (
        "Undecided after {rounds}: distribution is {gain} as {adjective} as one device, but other "
        "single-device settings may be as {adjective} ({rival}); {more}."
    ),
    Conclusion.NOT_SIGNIFICANT: (
        "Undecided after {rounds}: a gain is likely ({gain}), but not significant; {more}."
    ),
    Conclusion.LIKELY: (
        "Undecided: {recommended} is probably {better} than one device ({likely} as {adjective}), "
        "and recommended meanwhile; {more} to be sure."
    ),
    Conclusion.AT_MOST: (
        "Undecided after {rounds}: distribution may gain at most {most}; stay on one device, or "
        "{more}."
    ),
    Conclusion.NO_FINALS: (
        "Interrupted before the finals: the best single-device configuration so far, not confirmed."
    ),
}


def _current(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials without failures of configurations that were measured later.

    The loss of a host is no failure of theirs, and is told.
    """
    last = {trial.configuration: trial.number for trial in trials if trial.measured}
    return [
        trial
        for trial in trials
        if trial.outcome is Outcome.REJECTED
        or trial.interrupted
        or trial.number >= last.get(trial.configuration, -1)
    ]


def _objective(result: Result) -> Iterator[str]:
    """Yield the value of the objective, unless it is what is told anyway."""
    if result.grounds.value and result.value != result.examples_per_second:
        found = result.grounds
        yield f"The {found.quantity} of the recommended configuration is {found.value}."


def _asynchronous(result: Result) -> Iterator[str]:
    if not strategy(result.config.strategy).asynchronous:
        return
    lost = _lost_updates(result, result.config)
    share = f" {lost:.0%} of the updates were lost from optimizer.iterations." if lost else ""
    yield (
        f"{strategy(result.config.strategy).title} trains asynchronously: workers do not wait for "
        f"each other, so gradients may be stale.{share} Compare the trained model with "
        "single-device training before relying on it."
    )


def _lost_updates(result: Result, configuration: Configuration) -> float | None:
    """Return the mean share of updates that the trials of a configuration lost, if it can."""
    mine = [trial for trial in result.trials if trial.configuration == configuration]
    shares = [trial.lost_updates for trial in mine if trial.lost_updates is not None]
    return fmean(shares) if shares else None


def _eager(result: Result, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what compiling a model gains that runs eagerly by the user's own request."""
    facts, own = result.facts, result.grounds.default
    if not facts.eager:
        return
    at = f" (line {facts.fit.eager})" if facts.fit and facts.fit.eager else ""
    if facts.uncompilable:
        yield (
            f"Your model runs eagerly{at} and cannot be compiled ({facts.uncompilable}): once it "
            "can, its steps are usually several times as fast, and it can be distributed."
        )
        return
    eager, compiled = (
        [t.examples_per_second for t in trials if t.configuration == c and t.examples_per_second]
        for c in (own, own.taking({"run_eagerly": False}))
    )
    gain = fmean(compiled) / fmean(eager) if own.run_eagerly and eager and compiled else None
    text = f"Your model runs eagerly{at}; what compiling it gains was not measured."
    if gain:
        found = f"takes 1/{gain:.0f} of the time" if gain >= 2 else f"is {gain:.2g} times as fast"
        text = f"Your model runs eagerly{at}: compiled, it {found}."
    if not result.config.run_eagerly:
        text += (
            " The recommended program compiles it; Python code in train_step or call then runs "
            "only while it is traced."
        )
    yield text


def _callbacks(result: Result, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what callbacks take of a step with the user's own settings, and how often they come."""
    own = result.grounds.default
    for trial in [t for t in trials if t.configuration == own and t.examples_per_second][-1:]:
        milliseconds = 1000 * own.global_batch / (trial.examples_per_second or 1)
        if sum(each for _, each in trial.callback_seconds) * 1000 >= LIMITS * milliseconds:
            told = callbacks_in_words(trial.callback_seconds, milliseconds)
            yield f"Callbacks limit a step with your own settings: {told}."
    steps, called = result.config.steps_per_execution, result.facts.batch_callbacks
    if called and steps > own.steps_per_execution:
        yield (
            f"In the recommended program Keras calls {', '.join(called)} once in {steps} batches, "
            "because a call of the step function takes so many."
        )


def _accumulation(result: Result) -> Iterator[str]:
    steps, batch = result.facts.accumulated_steps, update_batch(result.config)
    if steps > 1:
        yield (
            f"An update sees {steps} batches (gradient_accumulation_steps): {steps * batch:,} "
            f"examples, {batch:,} in each step."
        )


def _batch(result: Result) -> Iterator[str]:
    chosen, usual = result.config, result.grounds.default.global_batch
    batch = update_batch(chosen)
    if result.options.global_batch or batch == usual or result.facts.learning:
        return
    advice = learning_rate(result.facts.optimizer, batch / usual)
    yield f"The global batch is {batch} instead of {usual}, which changes convergence: {advice}."
    other = result.unchanged_batch
    if other is None:
        yield f"--global-batch {usual} keeps it unchanged."
        return
    yield (
        f"At a global batch of {usual} the fastest configuration tried "
        f"({title(other.configuration)}, {differences(other.configuration)}) reaches "
        f"{other.share:.0%} of this throughput; --global-batch {usual} searches only there."
    )


def _epoch(result: Result) -> Iterator[str]:
    if text := epoch_in_words(result.config, result.facts):
        yield f"The program makes {text}."


def _own_strategy(result: Result) -> Iterator[str]:
    own = result.facts.fit and result.facts.fit.own_strategy
    if own and own.title:
        line = f" in line {own.line} of the script" if own.line else " of the script"
        yield (
            f"The {own.title}{line} was taken out: wherever the script makes or asks for a "
            f"strategy, it gets that of the program, with {plural(own.replicas, 'replica')} to "
            "reckon its batch size and its learning rate with."
        )


def _certificate(result: Result) -> Sequence[str]:
    found = result.certificate
    return (found.line, *found.undecided) if found else ()


def _rejected(trials: Sequence[Trial]) -> Iterator[str]:
    for trial in trials:
        if trial.outcome is Outcome.REJECTED:
            yield (
                f"{title(trial.configuration)} failed certification (trial {trial.number}): "
                f"{reason_text(trial.reason)}"
            )


def _explored(result: Result) -> Iterator[str]:
    adjective = result.grounds.adjective
    for best in result.grounds.explored:
        lost = _lost_updates(result, best.configuration)
        price = f"; {lost:.0%} of the updates were lost from optimizer.iterations" if lost else ""
        yield (
            f"During exploration, {title(best.configuration)} was {best.share:.0%} as {adjective} "
            f"as the best single device ({differences(best.configuration)}){price}."
        )


def _tuning(result: Result) -> Iterator[str]:
    default = result.grounds.default
    if result.config == default:
        tried = {each.configuration for each in result.trials if not each.configuration.distributed}
        yield (
            "The Keras defaults were the fastest settings tried on one device."
            if len(tried) > 1
            else "Only the Keras defaults were tried."
        )
    elif result.over_default is not None:
        yield (
            f"The recommended settings ({differences(result.config)}) are "
            f"{times(result.over_default)} as {result.grounds.adjective} as the defaults on one "
            f"device ({differences(default)})."
        )


def _faster(result: Result) -> Iterator[str]:
    """Yield why the fastest row of the table is not what is recommended."""
    shown = (*result.finalists, *result.explored)
    chosen = next((e for e in shown if e.configuration == result.config), None)
    best = max(shown, key=lambda e: e.examples_per_second.value, default=None)
    if chosen and best and best.examples_per_second.value > chosen.examples_per_second.value:
        yield (
            f"{in_short(best.configuration)} shows {rate(best.examples_per_second.value)} "
            f"examples/s and is not recommended: {_why_not(best, result)}."
        )


def _why_not(row: Entry, result: Result) -> str:
    batch = update_batch(row.configuration)
    if row.outcome is Outcome.REJECTED:
        return "it failed certification"
    if batch != update_batch(result.config):
        return f"a global batch of {batch:,} does not surely pay"
    if row.outcome is not Outcome.MEASURED:
        return f"it ended as {row.outcome}"
    if row.configuration.distributed:
        return f"a gain of {result.margin:.0%} or more over one device is not shown"
    return f"the difference is within the error ({plural(row.runs, 'run')} of it)"


def _proofs(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield each proof once, with its first trial."""
    found: dict[str, int] = {}
    for trial in trials:
        if isinstance(trial.reason, Proof):
            text = f"{title(trial.configuration)} {reason_text(trial.reason)}"
            found.setdefault(text, trial.number)
    yield from (f"{text} (trial {number})." for text, number in found.items())


def _failures(trials: Sequence[Trial]) -> Iterator[str]:
    """Yield failures with one cause once."""
    causes: dict[tuple[Outcome, str, Reason], list[int]] = {}
    for t in trials:
        if t.outcome in FAILURES:
            causes.setdefault((t.outcome, title(t.configuration), t.reason), []).append(t.number)
    for (outcome, name, reason), numbers in causes.items():
        yield (
            f"{name} {outcome.verb} in trial{'s' * (len(numbers) > 1)} "
            f"{', '.join(map(str, numbers))}: {reason_text(reason)}"
        )


def _memory(trials: Sequence[Trial], *, gpus: int) -> Iterator[str]:
    """Yield what remains where the model does not fit: its variables in several places."""
    full = [t for t in trials if t.outcome is Outcome.OUT_OF_MEMORY]
    if all(strategy(t.configuration.strategy).asynchronous for t in full):
        return
    if gpus > 1:
        yield (
            "ParameterServerStrategy keeps the variables on parameter servers instead of the "
            "GPUs, but trains asynchronously; --allow-asynchronous includes it in the search."
        )
    else:
        yield (
            "Parameter servers on several hosts can hold the variables; on this machine that "
            "saves no memory."
        )


def _unmatched_batch(result: Result) -> Iterator[str]:
    batch = result.grounds.unmatched_batch
    if batch is not None and result.config.distributed:
        yield (
            f"One device was not measured at the global batch of {batch}; part of the gain may "
            "come from the larger batch."
        )


def _profile(result: Result) -> Iterator[str]:
    if result.diagnosis:
        yield from profile(result.diagnosis, result.facts)
    elif result.options.diagnose and result.options.budget and not result.interrupted:
        yield "No time was left to find out where the time of a step goes."


def _lengths(result: Result) -> Iterator[str]:
    seen, found = result.facts.first_pass, result.examples_per_second
    if seen is None or seen.mean_length is None or found is None:
        return
    low, high = (f"{bound(seen.lengths):.3g}" for bound in (min, max))
    yield (
        f"Examples vary in length, between {low} and {high} in the mean of a part of an epoch; "
        f"{rate(found.value)} of them a second are about {rate(found.value * seen.mean_length)} "
        "tokens, time steps or pixels, padding included."
    )


def _noise(result: Result) -> str:
    found = result.grounds
    if not found.repeats:
        return f"Run-to-run variation was not measured; {found.prior.sd:.0%} is assumed."
    return (
        f"Run-to-run variation is {found.noise.sd:.0%} (standard deviation, from "
        f"{plural(found.repeats, 'repeat')} and a prior of {found.prior.sd:.0%})."
    )
