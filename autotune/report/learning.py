"""What other batch sizes are worth, in sentences: examples per second against examples needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autotune.learning import (
    Examples,
    Learning,
    Unpredictable,
    examples_needed,
    learning_rate_factor,
)
from autotune.result import Result
from autotune.result.leaderboard import Entry, Leaderboard
from autotune.run.engine import Outcome
from autotune.strategies import update_batch
from autotune.wording import times
from autotune.workload import BatchSource, own_batch

OTHERS = 2
"""Batches that are spoken of beside the recommended one."""
WHY = {
    Unpredictable.OWN_STEP: "the model has a train_step of its own",
    Unpredictable.SUMMED_LOSS: "its loss is a sum over the batch",
    Unpredictable.CLIPPED: "most of its gradients are clipped",
    Unpredictable.ACCUMULATED: "the optimizer accumulates gradients over several steps",
    Unpredictable.SCHEDULED: "a function or a callback changes the learning rate within an epoch",
    Unpredictable.OPTIMIZER: "no formula is known for this optimizer",
    Unpredictable.FAILED: "the look at the gradients failed",
    Unpredictable.TOO_FEW: "too few gradients could be looked at",
    Unpredictable.NO_TIME: "the budget is too short to look at gradients",
    Unpredictable.NOT_OFFERED: "this engine cannot look at gradients",
}
SOURCES = {
    BatchSource.FIT: "what the script gives to fit",
    BatchSource.DATASET: "that of the batches of dataset_fn",
    BatchSource.FACTORY: "the default of dataset_fn's batch_size",
    BatchSource.KERAS: "that of Keras, as nothing says otherwise",
}
"""Who says what the user's own batch is."""


def learning_lines(result: Result) -> Iterator[str]:
    """Yield what is known of other batch sizes; nothing where all configurations have one."""
    known = result.facts.learning
    if known is None or result.options.global_batch:
        return
    yield _own(result, known)
    yield from _unknown(known)
    yield from (told := list(_others(result, known)))
    if told and known.probes:
        yield _looked(known)


def fastest(result: Result) -> Mapping[int, Entry]:
    """Return the fastest configuration that was measured with each global batch."""
    board = Leaderboard(result.trials, result.one_device)
    entries = [*board.entries(final=False), *board.entries(final=True)]
    entries.sort(key=lambda each: each.examples_per_second.value)
    measured = (each for each in entries if each.outcome is Outcome.MEASURED)
    return {update_batch(each.configuration): each for each in measured}


def _own(result: Result, known: Learning) -> str:
    size, source = own_batch(result.facts)
    text = f"Your own global batch is {size}, {SOURCES[source]}"
    closest = f"; {known.batch} is the closest that was compared" if known.batch != size else ""
    return f"{text}{closest}."


def _unknown(known: Learning) -> Iterator[str]:
    if known.refused:
        yield (
            f"Only a global batch of {known.batch} was compared: how the model learns at others is "
            f"not known, because {WHY[known.refused]}."
        )


def _others(result: Result, known: Learning) -> Iterator[str]:
    """Yield what the recommended batch is worth, and the fastest others that were measured."""
    measured = fastest(result)
    if known.batch not in measured:
        return
    own, chosen = measured[known.batch], update_batch(result.config)
    others = [b for b, each in measured.items() if _faster(each, own) > 1 and b != chosen]
    batches = [chosen, *sorted(others, key=lambda b: -_faster(measured[b], own))]
    told = [b for b in batches if b != known.batch and b in measured]
    for batch in told[: OTHERS + (chosen != known.batch)]:
        yield _worth(known, batch, _faster(measured[batch], own))


def _faster(entry: Entry, own: Entry) -> float:
    return entry.examples_per_second.value / own.examples_per_second.value


def _worth(known: Learning, batch: int, faster: float) -> str:
    needed = examples_needed(known, batch)
    gives = f"A global batch of {batch} instead of {known.batch} gives {faster:.2f} times the "
    if needed is None:
        return (
            f"{gives}examples per second; it pays if it needs less than {faster:.2f} times the "
            "examples to the same loss."
        )
    return (
        f"{gives}examples per second and needs {times(needed.examples)} the examples to the same "
        f"loss, at {learning_rate_factor(known, batch):.2g} times the learning rate: "
        f"{answer(faster, needed.examples)}."
    )


def answer(faster: float, needed: Examples) -> str:
    """Return whether a batch pays that is so many times as fast and needs so many examples."""
    if faster > needed.high:
        return "it pays"
    return "slower to the same loss" if faster < needed.low else "it may pay or not"


def _looked(known: Learning) -> str:
    steps = " and ".join(f"{each.step:,}" for each in known.probes)
    return (
        f"That was predicted from gradients after {steps} steps at a batch of {known.batch}; it "
        "says nothing of the loss that is reached in the end."
    )
