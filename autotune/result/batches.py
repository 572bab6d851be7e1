"""What other batch sizes are worth: examples per second against examples needed.

Configurations are compared that are equal in all other settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from autotune.answer import Entry
from autotune.config import Configuration, equal_parts
from autotune.reason import Outcome, Rule, RuleKind
from autotune.reason.sentences import BATCH_SOURCES, UNPREDICTABLE, rule_text
from autotune.result.stored import ResultData
from autotune.stats.efficiency import learning_rate_factor, predicted_examples
from autotune.stats.gradients import Learning
from autotune.stats.intervals import Interval, unpaired_ratio
from autotune.strategies import distribution, update_batch, weighed_batch
from autotune.text import times
from autotune.workload import own_batch

ITSELF = Interval(low=1.0, value=1.0, high=1.0)
OTHERS = 2
"""Batches that are spoken of beside the recommended one."""


class Arms(NamedTuple):
    """Two configurations that differ in their batch alone, as the table shows them."""

    other: Entry
    own: Entry
    """With the user's own global batch."""

    @property
    def batch(self) -> int:
        return update_batch(self.other.configuration)

    @property
    def faster(self) -> Interval:
        """Examples per second, as a multiple of those at the own batch."""
        if self.other == self.own:
            return ITSELF
        return unpaired_ratio(self.other.examples_per_second, self.own.examples_per_second)


def own_arm(configuration: Configuration, own: int) -> Configuration:
    """Return the same settings with another batch behind each update."""
    replicas = update_batch(configuration) // configuration.per_replica_batch
    return configuration.taking({"per_replica_batch": equal_parts(own, replicas) or 1})


class Gain(NamedTuple):
    """What another batch than the own gains."""

    arms: Arms
    needed: Interval
    """Examples to the same loss, as a multiple of those at the own batch."""
    learning_rate: float
    """As a multiple of the user's own."""

    @property
    def progress(self) -> Interval:
        """Progress per second, as a multiple of that at the own batch."""
        return unpaired_ratio(self.arms.faster, self.needed)

    @property
    def time(self) -> Interval:
        """To the same loss, as a multiple of that of the own batch."""
        return self.progress.under(1)

    @property
    def answer(self) -> str:
        if self.progress.low > 1:
            if self._confirmed:
                return "faster to the same loss"
            return "probably faster to the same loss, but not measured again"
        return "slower to the same loss" if self.progress.high < 1 else "inconclusive"

    @property
    def _confirmed(self) -> bool:
        """Whether it was measured again: what led once may have led by chance."""
        other, own = self.arms
        # Several devices are compared with one, and seldom with others of their kind.
        return other.runs > 1 and (own.runs > 1 or own.configuration.distributed)


def gain(arms: Arms, learning: Learning) -> Gain | None:
    """Return what a batch gains; None where it is not known what an example teaches there."""
    needed = predicted_examples(learning, arms.batch)
    if needed is None:
        return None
    return Gain(arms, needed.examples, learning_rate_factor(learning, arms.batch))


def learning_lines(result: ResultData) -> Iterator[str]:
    """Yield what is known of other batch sizes; nothing where all configurations have one."""
    known = result.facts.learning
    if result.facts.summed_loss:
        why = rule_text(Rule(kind=RuleKind.SUMMED_LOSS))
        yield f"Only a global batch of {result.config.global_batch} was tried: {why}."
    if known is None or result.options.global_batch:
        return
    size, source = own_batch(result.facts)
    closest = f"; {known.batch} is the closest that was compared" if known.batch != size else ""
    yield f"Your own global batch is {size}, {BATCH_SOURCES[source]}{closest}."
    if known.refused:
        yield (
            f"Only a global batch of {known.batch} was compared: how the model learns at others is "
            f"not known, because {UNPREDICTABLE[known.refused]}."
        )
    yield from (listed := list(_others(result, known)))
    if listed and known.probes:
        steps = " and ".join(f"{each.step:,}" for each in known.probes)
        yield (
            f"What they need is predicted from gradients after {steps} steps at a batch of "
            f"{known.batch}; the loss that is reached in the end was not looked at."
        )


def batches(result: ResultData) -> Mapping[int, Arms]:
    """Return the comparison of each other batch with the own, by the rows of the table.

    That of what is recommended, or of the fastest configuration, on one device if there is one;
    all other settings are equal.
    """
    known = result.facts.learning
    if known is None:
        return {}
    shown = {e.configuration: e for e in result.answer.entries if e.outcome is Outcome.MEASURED}
    others = sorted(shown, key=lambda c: (c.distributed, -shown[c].examples_per_second.value))
    found: dict[int, Arms] = {}
    for each in (result.config, *others):
        other, own = shown.get(each), shown.get(own_arm(each, known.batch))
        if other and own and other != own and _is_own(own.configuration, known):
            found.setdefault(update_batch(each), Arms(other, own))
    return found


def _is_own(configuration: Configuration, known: Learning) -> bool:
    return weighed_batch(configuration, known.batch) == known.batch


def _others(result: ResultData, known: Learning) -> Iterator[str]:
    """Yield what the recommended batch is worth, and the fastest others that were compared."""
    found, chosen = dict(batches(result)), update_batch(result.config)
    faster = [batch for batch, arms in found.items() if arms.faster.value > 1 and batch != chosen]
    faster.sort(key=lambda batch: -found[batch].faster.value)
    listed = [batch for batch in (chosen, *faster) if batch in found and batch != known.batch]
    for batch in listed[: OTHERS + (chosen != known.batch)]:
        yield _efficiency(known, batch, found[batch])


def _efficiency(known: Learning, batch: int, arms: Arms) -> str:
    found = gain(arms, known)
    gives = (
        f"A global batch of {batch} instead of {known.batch} gives {times(arms.faster)} the "
        f"examples per second ({distribution(arms.other.configuration)}, other settings equal)"
    )
    if found is None:
        return f"{gives}; what an example teaches there is not known."
    costs = f"needs {times(found.needed)} the examples to the same loss"
    factor = f"{found.learning_rate:.2g} times the learning rate"
    return f"{gives} and {costs}, at {factor}: {found.answer}."
