"""The answer of a result in a sentence."""

from __future__ import annotations

from autotune.reason.sentences import rule_text
from autotune.result.data import ResultData
from autotune.result.verdict import VerdictOutcome
from autotune.space import why_alone
from autotune.stats.efficiency import learning_rate_factor
from autotune.strategies import distribution, in_short, title, update_batch
from autotune.text import at_least, plural, times
from autotune.workload import own_batch


def summary(result: ResultData) -> str:
    """Return the verdict as one sentence, with what else has to be known of it."""
    found = result.evidence
    text = ANSWERS[found.outcome].format(**_figures(result)) + _batch_change(result)
    if result.facts.learning is None and not result.options.global_batch:
        text += " Learning was not looked at."
    if not result.interrupted or found.outcome is VerdictOutcome.NO_FINALS:
        return text
    return f"{text} Interrupted after {plural(found.decision.rounds, 'round')} of the finals."


def _batch_change(result: ResultData) -> str:
    """Return which batch and learning rate are not the user's own; nothing where both are."""
    own = own_batch(result.facts, result.options.global_batch).size
    batch, learning = update_batch(result.config), result.facts.learning
    if batch == own:
        return ""
    factor = learning_rate_factor(learning, batch) if learning else 1.0
    rate = "" if factor == 1 else f", the learning rate {factor:.2g} times your own"
    return f" The global batch is {batch:,} instead of your own {own:,}{rate}."


def _figures(result: ResultData) -> dict[str, str]:
    """Return what stands for the names in `ANSWERS`."""
    decision, alone = result.evidence.decision, why_alone(result.facts)
    own, seconds = result.evidence.default.global_batch, result.evidence.more_seconds
    adjective = result.evidence.adjective
    return {
        "why": rule_text(alone) if alone else "",
        "name": title(decision.challenger) if decision.challenger else "",
        "gain": times(decision.gain) if decision.gain else "",
        "recommended": title(result.config),
        "likely": times(speedup) if (speedup := result.best_distributed_speedup) else "",
        "contender": in_short(decision.contender) if decision.contender else "",
        "rounds": plural(decision.rounds, "round"),
        "tried": str(result.evidence.tried),
        "distributable": str(result.evidence.distributable),
        "margin": f"{result.margin:.0%}",
        "adjective": adjective,
        "better": _compared(adjective, "more"),
        "worse": _compared(adjective, "less"),
        "most": f"{max(decision.most - 1, 0):.0%}",
        "own": f"{own:,}",
        "at_own": f" at a global batch of {own:,}" if result.facts.learning else "",
        "explored": _best_explored(result),
        "more": f"continue with a budget of {at_least(seconds)}"
        if seconds
        else "increase the budget",
    }


def _best_explored(result: ResultData) -> str:
    """Return the best distributed configuration of the table, and its ratio there."""
    several = (each for each in result.compared if each.configuration.distributed)
    best = next((each for each in several if each.speedup), None)
    if best is None or best.speedup is None:
        return "no distributed configuration was measured"
    return f"{distribution(best.configuration)} was {times(best.speedup)}"


def _compared(adjective: str, degree: str) -> str:
    """Return how much of a quality something has beside something else, such as `faster`."""
    word, *rest = adjective.split(" ", 1)
    return " ".join([_COMPARED.get((word, degree), f"{degree} {word}"), *rest])


_COMPARED = {
    ("fast", "more"): "faster",
    ("fast", "less"): "slower",
    ("cheap", "more"): "cheaper",
    ("cheap", "less"): "dearer",
}
ANSWERS = {
    VerdictOutcome.GAIN: "Distribute: {name} is {gain} as {adjective} as the best single device.",
    VerdictOutcome.NO_GAIN: (
        "Stay on one device: the best distributed configuration, {name}, is {gain} as {adjective} "
        "as the best single device; no gain of {margin} or more."
    ),
    VerdictOutcome.NOT_DISTRIBUTABLE: (
        "Stay on one device: no distributed configuration can run on this machine."
    ),
    VerdictOutcome.MODEL_ALONE: "Stay on one device: nothing distributed can run, because {why}.",
    VerdictOutcome.ONLY_ONE_DEVICE: (
        "One device: only its settings were compared, as no other strategy was to be tried."
    ),
    VerdictOutcome.OTHER_BATCHES: (
        "Stay on one device: no distributed configuration can run at a global batch of {own}, and "
        "what an example teaches at others is not known."
    ),
    VerdictOutcome.REJECTED: (
        "Stay on one device: the faster distributed configuration failed certification."
    ),
    VerdictOutcome.PROVED_SLOWER: (
        "Stay on one device: no distributed configuration can be {better}."
    ),
    VerdictOutcome.SLOWER: (
        "Stay on one device: every distributed configuration that ran was {worse}."
    ),
    VerdictOutcome.NOT_TRIED: (
        "Undecided: no distributed configuration was measured{at_own} before the search ended; "
        "stay on one device, or {more}."
    ),
    VerdictOutcome.NOT_MEASURED: (
        "Undecided: no distributed configuration could be measured; stay on one device, or {more}."
    ),
    VerdictOutcome.NOT_COMPARED: (
        "Undecided: {explored} as {adjective} as one device, which no finals confirmed; stay on "
        "one device, or {more}."
    ),
    VerdictOutcome.NOT_CERTIFIED: (
        "Undecided after {rounds}: a gain is likely ({gain}), but its training was not certified; "
        "stay on one device, or continue with --resume."
    ),
    VerdictOutcome.BIMODAL: (
        "Undecided after {rounds}: a gain is likely ({gain}), but the run-to-run "
        "variation of several processes can be bimodal, and too few runs were seen to tell; {more}."
    ),
    VerdictOutcome.FEW_TRIED: (
        "Undecided ({tried} of {distributable} distributed configurations tried): no gain was "
        "found, but others may gain {margin} or more; stay on one device, or {more}."
    ),
    VerdictOutcome.HOSTS_LOST: (
        "Undecided: machines were lost, and configurations that need them may gain {margin} or "
        "more; stay on one device, or start them again and continue with --resume."
    ),
    VerdictOutcome.CONTENDED: (
        "Undecided after {rounds}: distribution is {gain} as {adjective} as one device, but other "
        "single-device settings may be as {adjective} ({contender}); {more}."
    ),
    VerdictOutcome.NOT_SIGNIFICANT: (
        "Undecided after {rounds}: a gain is likely ({gain}), but not significant; {more}."
    ),
    VerdictOutcome.LIKELY: (
        "Undecided: {recommended} is probably {better} than one device ({likely} as {adjective}), "
        "and recommended meanwhile; {more} to be sure."
    ),
    VerdictOutcome.AT_MOST: (
        "Undecided after {rounds}: distribution may gain at most {most}; stay on one device, or "
        "{more}."
    ),
    VerdictOutcome.NO_FINALS: (
        "Interrupted before the finals: the best single-device configuration so far, not confirmed."
    ),
}
