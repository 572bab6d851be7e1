"""What is said of the global batch: the recommended one, and the others that were compared."""

from collections.abc import Iterator

from autotune.answer import Entry
from autotune.config import equal_parts
from autotune.learning import Learning, usual_rate_factor
from autotune.reason import Outcome, Rule, RuleKind, nearest_batch
from autotune.reason.sentences import BATCH_SOURCES, UNPREDICTABLE, rule_text
from autotune.result.stored import ResultData
from autotune.stats.intervals import Interval, times, unpaired_ratio
from autotune.strategies import distribution, is_nearest, title, update_batch
from autotune.workload import own_batch

OTHERS = 2
"""Batches that are spoken of beside the recommended one."""


def batch_change(result: ResultData) -> Iterator[str]:
    """Yield which batch and learning rate are not the user's own; nothing where both are."""
    own = own_batch(result.facts, result.options.global_batch).size
    batch, known = update_batch(result.config), result.facts.learning
    ran = (t.configuration for t in result.trials if t.outcome is not Outcome.SKIPPED)
    every = filter(None, (result.config, result.answer.several, *ran))
    if nearest := next((c for c in every if is_nearest(c, own)), None):
        yield f"{title(nearest)} takes {rule_text(nearest_batch(own, nearest.replicas))}."
    elif batch != own:
        factor = known.scaling(batch).rate if known else 1.0
        rate = "" if factor == 1 else f", the learning rate {factor:.2g} times your own"
        yield f"The global batch is {batch:,} instead of your own {own:,}{rate}."
    if result.trials and known is None and not result.options.global_batch:
        yield "Learning was not looked at."


def batch_lines(result: ResultData) -> Iterator[str]:
    """Yield what another batch than the own one changes, as far as that is known."""
    facts, known = result.facts, result.facts.learning
    chosen, usual = update_batch(result.config), result.answer.own.global_batch
    if facts.accumulated_steps > 1:
        steps = facts.accumulated_steps
        yield (
            f"An update sees {steps} batches (gradient_accumulation_steps): {steps * chosen:,} "
            f"examples, {chosen:,} in each step."
        )
    if facts.summed_loss:
        why = rule_text(Rule(kind=RuleKind.SUMMED_LOSS))
        yield f"Only a global batch of {result.config.global_batch} was tried: {why}."
    if result.options.global_batch:
        return
    if known:
        yield from _compared(result, known)
    elif chosen != usual:
        rate = usual_rate(facts.optimizer, chosen / usual)
        yield f"The global batch is {chosen} instead of {usual}, which changes convergence: {rate}."
        yield f"--global-batch {usual} keeps it unchanged."


def usual_rate(optimizer: str, factor: float) -> str:
    """Return what usually becomes of the learning rate with so many times the global batch.

    The rules are those of Goyal et al. (2017) for SGD, of Malladi et al. (2022) for Adam and its
    relatives.
    """
    change = usual_rate_factor(optimizer, factor)
    how = f"divided by about {1 / change:.2g}"
    if change >= 1:
        how = f"multiplied by about {change:.2g}, with a warm-up over the first epochs"
    return f"usually the learning rate of {optimizer or 'the optimizer'} is {how}"


def _compared(result: ResultData, known: Learning) -> Iterator[str]:
    size, source = own_batch(result.facts)
    closest = f"; {known.batch} is the closest that was compared" if known.batch != size else ""
    yield f"Your own global batch is {size}, {BATCH_SOURCES[source]}{closest}."
    if known.refused:
        yield (
            f"Only a global batch of {known.batch} was compared: how the model learns at others is "
            f"not known, because {UNPREDICTABLE[known.refused]}."
        )
    yield from (compared := [_gain(known, *pair) for pair in _pairs(result, known)])
    if compared and known.probes:
        steps = " and ".join(f"{each.step:,}" for each in known.probes)
        yield (
            f"What they need is predicted from gradients after {steps} steps at a batch of "
            f"{known.batch}; the loss that is reached in the end was not looked at."
        )


def _pairs(result: ResultData, known: Learning) -> list[tuple[Entry, Entry]]:
    """Return the recommended batch and the fastest others, each beside the own one.

    The two of a pair differ in nothing but their batch.
    """
    shown = {e.configuration: e for e in result.answer.entries if e.outcome is Outcome.MEASURED}
    chosen, found = result.config, dict[int, tuple[Entry, Entry]]()
    by_rate = sorted(shown.values(), key=lambda e: -e.examples_per_second.value)
    for other in sorted(
        by_rate, key=lambda e: (e.configuration != chosen, e.configuration.distributed)
    ):
        batch, share = update_batch(other.configuration), other.configuration.per_replica_batch
        at_own = {"per_replica_batch": equal_parts(known.batch, batch // share)}
        own = shown.get(other.configuration.taking(at_own))
        if own and own != other:
            found.setdefault(batch, (other, own))
    first = [found.pop(update_batch(chosen))] if update_batch(chosen) in found else []
    faster = {batch: pair for batch, pair in found.items() if _faster(*pair).value > 1}
    rest = sorted(faster.values(), key=lambda pair: -_faster(*pair).value)
    return [*first, *rest[:OTHERS]]


def _faster(other: Entry, own: Entry) -> Interval:
    return unpaired_ratio(other.examples_per_second, own.examples_per_second)


def _gain(known: Learning, other: Entry, own: Entry) -> str:
    """Return what a batch gives and needs, and whether it reaches the same loss sooner."""
    batch, faster = update_batch(other.configuration), _faster(other, own)
    gives = (
        f"A global batch of {batch} instead of {known.batch} gives {times(faster)} the examples "
        f"per second ({distribution(other.configuration)}, other settings equal)"
    )
    efficiency = known.efficiency(batch)
    if efficiency is None:
        return f"{gives}; what an example teaches there is not known."
    needed = efficiency.under(1)
    progress = unpaired_ratio(faster, needed)
    # What led once may have led by chance. Several devices are compared with one, and seldom with
    # others of their kind.
    again = other.runs > 1 and (own.runs > 1 or own.configuration.distributed)
    outcome = "inconclusive"
    if progress.low > 1:
        outcome = "faster to the same loss"
        outcome = outcome if again else f"probably {outcome}, but not measured again"
    elif progress.high < 1:
        outcome = "slower to the same loss"
    return (
        f"{gives} and needs {times(needed)} the examples to the same loss, at "
        f"{known.scaling(batch).rate:.2g} times the learning rate: {outcome}."
    )
