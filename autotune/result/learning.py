"""What other batch sizes are worth, in sentences: examples per second against examples needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autotune.learning import (
    Examples,
    Learning,
    Race,
    Raced,
    Unpredictable,
    Unraced,
    examples_needed,
    learning_rate_factor,
)
from autotune.result.batches import Arms, Gain, arms_of, compared_batches, gain, rows
from autotune.result.data import ResultData
from autotune.strategies import distribution, update_batch
from autotune.wording import plural, times
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
UNPROVED = {
    Unraced.NO_RIVAL: "no other batch that was measured may pay",
    Unraced.NO_TIME: "the budget is too short for two seeds of two batches",
    Unraced.CHANGING: "the dataset gives other examples in each pass, so none can be held out",
    Unraced.PADDED: "examples are padded to the longest of their batch, so none can be held out",
    Unraced.UNCOUNTED: "the dataset never ends or is too long to count, so none can be held out",
    Unraced.FEW: "there are too few examples to hold some out",
    Unraced.FAILED: "the training at your own batch failed",
    Unraced.NOT_OFFERED: "this engine cannot train to a loss",
}
SOURCES = {
    BatchSource.FIT: "what the script gives to fit",
    BatchSource.DATASET: "that of the batches of dataset_fn",
    BatchSource.FACTORY: "the default of dataset_fn's batch_size",
    BatchSource.KERAS: "that of Keras, as nothing says otherwise",
}
"""Who says what the user's own batch is."""


def learning_lines(result: ResultData) -> Iterator[str]:
    """Yield what is known of other batch sizes; nothing where all configurations have one."""
    known = result.facts.learning
    if known is None or result.options.global_batch:
        return
    yield _own(result, known)
    yield from _unknown(known)
    yield from (told := list(_others(result, known)))
    if known.race and not known.race.refused:
        yield _trained(known.race)
    elif told and known.probes:
        yield _looked(known)


def batches(result: ResultData) -> Mapping[int, Arms]:
    """Return the comparison of each other batch with the own, by the rows of the table.

    That of what is recommended, or of the fastest configuration; all other settings are equal.
    """
    known = result.facts.learning
    if known is None:
        return {}
    shown = rows(result.compared)
    found = dict(compared_batches(shown, known.batch))
    chosen = arms_of(result.config, shown, known.batch)
    return {**found, update_batch(result.config): chosen} if chosen else found


def _own(result: ResultData, known: Learning) -> str:
    size, source = own_batch(result.facts)
    text = f"Your own global batch is {size}, {SOURCES[source]}"
    closest = f"; {known.batch} is the closest that was compared" if known.batch != size else ""
    return f"{text}{closest}."


def _unknown(known: Learning) -> Iterator[str]:
    race = known.race
    if race and race.refused:
        yield f"Nothing was proved of other batches: {UNPROVED[race.refused]}."
    if known.refused and not (race and race.raced):
        yield (
            f"Only a global batch of {known.batch} was compared: how the model learns at others is "
            f"not known, because {WHY[known.refused]}."
        )


def _others(result: ResultData, known: Learning) -> Iterator[str]:
    """Yield what the recommended batch is worth, and the fastest others that were compared."""
    found, chosen = dict(batches(result)), update_batch(result.config)
    faster = [batch for batch, arms in found.items() if arms.faster.value > 1 and batch != chosen]
    faster.sort(key=lambda batch: -found[batch].faster.value)
    told = [batch for batch in (chosen, *faster) if batch in found and batch != known.batch]
    for batch in told[: OTHERS + (chosen != known.batch)]:
        yield _worth(known, batch, found[batch])


def _worth(known: Learning, batch: int, arms: Arms) -> str:
    needed, raced = examples_needed(known, batch), known.race and known.race.of(batch)
    found = gain(arms, known)
    gives = (
        f"A global batch of {batch} instead of {known.batch} gives {times(arms.faster)} the "
        f"examples per second ({distribution(arms.other.configuration)}, other settings equal)"
    )
    if needed is None or found is None:
        return f"{gives}; what an example teaches there is not known."
    shown = _shown(known.race, raced) if known.race and raced else _predicted(needed)
    factor = learning_rate_factor(known, batch)
    return f"{gives} and {shown}, at {factor:.2g} times the learning rate: {answer(found)}."


def _predicted(needed: Examples) -> str:
    return f"needs {times(needed)} the examples to the same loss"


def _shown(race: Race, raced: Raced) -> str:
    seeds = len(raced.ratios)
    if not raced.unreached:
        return (
            f"reached a held-out loss of {race.loss:.3g} after {times(raced.needed)} the examples, "
            f"{plural(seeds, 'seed')}"
        )
    most = f"within {max(raced.ratios):.2f} times the examples"
    return (
        f"did not reach a held-out loss of {race.loss:.3g} {most} from {raced.unreached} of "
        f"{plural(seeds, 'seed')}"
    )


def answer(found: Gain) -> str:
    if found.progress.low > 1:
        return "it pays" if found.pays else "it likely pays, but was not measured again"
    return "slower to the same loss" if found.progress.high < 1 else "it may pay or not"


def _looked(known: Learning) -> str:
    steps = " and ".join(f"{each.step:,}" for each in known.probes)
    return (
        f"That was predicted from gradients after {steps} steps at a batch of {known.batch}; it "
        "says nothing of the loss that is reached in the end."
    )


def _trained(race: Race) -> str:
    held_out = plural(race.held_out, "example")
    of = (
        f"The loss is that of {held_out} of your own validation data"
        if race.validates
        else f"For it, {held_out} were held out of every training"
    )
    return (
        f"What reached that loss, or did not, was trained on one device, {race.seconds:.0f} s in "
        f"all. {of}. It is the loss to which your own batch came in its share of the time, and not "
        "the one in the end."
    )
