"""What other batch sizes are worth, in sentences: examples per second against examples needed."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.learning import (
    Examples,
    Learning,
    Unpredictable,
    examples_needed,
    learning_rate_factor,
)
from autotune.result import Result
from autotune.result.leaderboard import Entry
from autotune.wording import times

OTHERS = 2
"""Batches that are spoken of beside the recommended one."""
WHY = {
    Unpredictable.OWN_STEP: "the model has a train_step of its own",
    Unpredictable.SUMMED_LOSS: "its loss is a sum over the batch",
    Unpredictable.CLIPPED: "most of its gradients are clipped",
    Unpredictable.ACCUMULATED: "the optimizer accumulates gradients over several steps",
    Unpredictable.SCHEDULED: "the learning rate follows a schedule, which counts steps",
    Unpredictable.OPTIMIZER: "no formula is known for this optimizer",
    Unpredictable.FAILED: "the look at the gradients failed",
    Unpredictable.TOO_FEW: "too few gradients could be looked at",
    Unpredictable.NOT_OFFERED: "this engine cannot look at gradients",
}


def learning_lines(result: Result) -> Iterator[str]:
    """Yield what is known of other batch sizes; nothing where the objective did not ask."""
    known = result.facts.learning
    if known is None:
        return
    yield from _unknown(known)
    own = _fastest(result, known.batch)
    told = list(_others(result, known, own)) if own else []
    yield from told
    if told:
        yield _looked(known)


def _others(result: Result, known: Learning, own: Entry) -> Iterator[str]:
    """Yield what the recommended batch is worth, and the largest others that were measured."""
    chosen = result.config.global_batch
    measured = {entry.configuration.global_batch for entry in result.compared}
    others = sorted(measured - {chosen, known.batch}, reverse=True)
    for batch in [chosen, *others][: 1 + OTHERS]:
        entry, needed = _fastest(result, batch), examples_needed(known, batch)
        if batch != known.batch and entry and needed:
            yield _worth(known, entry, own, needed.examples)


def _unknown(known: Learning) -> Iterator[str]:
    if known.refused:
        yield (
            f"Only a global batch of {known.batch} was compared: how the model learns at others is "
            f"not known, because {WHY[known.refused]}."
        )


def _fastest(result: Result, batch: int) -> Entry | None:
    """Return the fastest configuration that was measured with a global batch."""
    found = [each for each in result.compared if each.configuration.global_batch == batch]
    return max(found, key=lambda each: each.examples_per_second.value, default=None)


def _worth(known: Learning, entry: Entry, own: Entry, needed: Examples) -> str:
    batch = entry.configuration.global_batch
    faster = entry.examples_per_second.value / own.examples_per_second.value
    rate = learning_rate_factor(known, batch)
    return (
        f"A global batch of {batch} instead of {known.batch} gives {faster:.2f} times the examples "
        f"per second and needs {times(needed)} the examples to the same loss, at {rate:.2g} times "
        f"the learning rate: {_answer(faster, needed)}."
    )


def _answer(faster: float, needed: Examples) -> str:
    if faster > needed.high:
        return "it pays"
    return "slower to the same loss" if faster < needed.low else "it may pay or not"


def _looked(known: Learning) -> str:
    steps = " and ".join(f"{each.step:,}" for each in known.probes)
    return (
        f"That was predicted from gradients after {steps} steps at a batch of {known.batch}; it "
        "says nothing of the loss that is reached in the end."
    )
