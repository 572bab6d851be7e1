"""The answer of a result in a sentence."""

from __future__ import annotations

from autotune.reason.sentences import rule_text
from autotune.result.data import ResultData
from autotune.result.verdict import Conclusion
from autotune.space import why_alone
from autotune.stats.efficiency import learning_rate_factor
from autotune.strategies import distribution, in_short, title, update_batch
from autotune.text import at_least, plural, times
from autotune.workload import own_batch


def summary(result: ResultData) -> str:
    """Return the verdict as one sentence, with what else has to be known of it."""
    found = result.grounds
    text = ANSWERS[found.conclusion].format(**_figures(result)) + _batch_change(result)
    if result.facts.learning is None and not result.options.global_batch:
        text += " Learning was not looked at."
    if not result.interrupted or found.conclusion is Conclusion.NO_FINALS:
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
    decision, alone = result.grounds.decision, why_alone(result.facts)
    own, seconds = result.grounds.default.global_batch, result.grounds.more_seconds
    adjective = result.grounds.adjective
    return {
        "why": rule_text(alone) if alone else "",
        "name": title(decision.challenger) if decision.challenger else "",
        "gain": times(decision.gain) if decision.gain else "",
        "recommended": title(result.config),
        "likely": times(speedup) if (speedup := result.best_distributed_speedup) else "",
        "rival": in_short(decision.rival) if decision.rival else "",
        "rounds": plural(decision.rounds, "round"),
        "tried": str(result.grounds.tried),
        "distributable": str(result.grounds.distributable),
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
