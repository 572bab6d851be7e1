"""The answer of a result in a sentence."""

from __future__ import annotations

from autotune.reason import Outcome, nearest_batch
from autotune.reason.sentences import VERDICTS, rule_text
from autotune.result.data import ResultData
from autotune.stats.efficiency import learning_rate_factor
from autotune.strategies import in_short, is_nearest, title, update_batch
from autotune.text import at_least, times
from autotune.workload import own_batch, own_settings


def summary(result: ResultData) -> str:
    """Return the verdict as a sentence, and what else has to be known of it in further ones."""
    found = result.evidence
    text = VERDICTS[found.outcome].format(**_figures(result)) + _batch_change(result)
    if result.facts.learning is None and not result.options.global_batch:
        text += " Learning was not looked at."
    return f"{text} The search was interrupted." if result.interrupted else text


def settings(result: ResultData) -> str:
    """Return what is recommended, and how many times as good it is as the user's own settings."""
    own, gain, name = result.evidence.default, result.gain_over_yours, own_title(result)
    if result.config == own:
        return f"{in_short(own)}: {name}; {_why_kept(result)}."
    if gain is None:
        return f"{in_short(result.config)}; {name} ({in_short(own)}) were not measured."
    better = f"{times(gain)} as {result.evidence.adjective} as {name}"
    return f"{in_short(result.config)}: {better} ({in_short(own)})."


def own_title(result: ResultData) -> str:
    """Return what the default of a search is called: the user's own settings, or near them."""
    own, yours = result.evidence.default, own_settings(result.facts, result.options.global_batch)
    exact = own in (yours, yours.taking({"run_eagerly": False, "xla": False}))
    return "your own" if exact else "the closest to your own in this space"


def _why_kept(result: ResultData) -> str:
    """Return why no other settings on one device are recommended."""
    if len({t.configuration for t in result.trials if not t.configuration.distributed}) < 2:
        return "no others were tried"
    singles = (e for e in result.compared if not e.configuration.distributed)
    if any(each.speedup and each.speedup.low > 1 for each in singles):
        return "another batch seems better, but few runs show it"
    return "no others on one device were significantly better"


def _batch_change(result: ResultData) -> str:
    """Return which batch and learning rate are not the user's own; nothing where both are."""
    own = own_batch(result.facts, result.options.global_batch).size
    batch, learning = update_batch(result.config), result.facts.learning
    ran = (t.configuration for t in result.trials if t.outcome is not Outcome.SKIPPED)
    every = filter(None, (result.config, result.best_distributed, *ran))
    if nearest := next((c for c in every if is_nearest(c, own)), None):
        return f" {title(nearest)} takes {rule_text(nearest_batch(own, nearest.replicas))}."
    if batch == own:
        return ""
    factor = learning_rate_factor(learning, batch) if learning else 1.0
    rate = "" if factor == 1 else f", the learning rate {factor:.2g} times your own"
    return f" The global batch is {batch:,} instead of your own {own:,}{rate}."


def _figures(result: ResultData) -> dict[str, str]:
    """Return what stands for the names in `VERDICTS`."""
    decision, rule = result.evidence.decision, result.evidence.rule
    own, seconds = result.evidence.default.global_batch, decision.more_seconds
    adjective = result.evidence.adjective
    better, worse = _compared(adjective)
    return {
        "why": rule_text(rule) if rule else "",
        "name": title(decision.challenger) if decision.challenger else "",
        "gain": times(decision.gain) if decision.gain else "",
        "faster": _sure(decision.faster),
        "none": _sure(decision.none),
        "staying": _small(decision.staying),
        "distributing": _small(decision.distributing),
        "distribute": _side("distribute", decision.faster),
        "stay": _side("stay on one device", decision.none),
        "margin": f"{result.margin:.0%}",
        "adjective": adjective,
        "better": better,
        "worse": worse,
        "own": f"{own:,}",
        "at_own": f" at a global batch of {own:,}" if result.facts.learning else "",
        "more": f"search for a further {at_least(seconds)}" if seconds else "increase the budget",
    }


def _side(answer: str, probability: float) -> str:
    """Return what is recommended meanwhile, which may be the less likely of two answers."""
    return f"{'probably' if probability >= 0.5 else 'meanwhile'} {answer}"


def _sure(probability: float) -> str:
    """Return a probability in words that do not claim more than draws can tell."""
    return f"a probability of {min(max(probability, 0.01), 0.99):.0%}"


def _small(share: float) -> str:
    if share < LEAST_SHARE:
        return f"less than {LEAST_SHARE:.1%}"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _compared(adjective: str) -> list[str]:
    """Return what is said of what is better and of what is worse: `faster`, `slower`."""
    word, *rest = adjective.split(" ", 1)
    both = _COMPARED.get(word, (f"more {word}", f"less {word}"))
    return [" ".join([each, *rest]) for each in both]


_COMPARED = {"fast": ("faster", "slower"), "cheap": ("cheaper", "dearer")}
LEAST_SHARE = 0.001
