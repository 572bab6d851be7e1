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
from autotune.result import Result
from autotune.result.leaderboard import Entry, Leaderboard
from autotune.run.engine import Outcome
from autotune.strategies import update_batch
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


def learning_lines(result: Result) -> Iterator[str]:
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


def fastest(result: Result) -> Mapping[int, Entry]:
    """Return the fastest configuration that was measured with each global batch, compiled if any.

    An eager one would credit other batches with what only the compiling has gained.
    """
    board = Leaderboard(result.trials, result.one_device)
    entries = [*board.entries(final=False), *board.entries(final=True)]
    entries.sort(key=lambda each: each.examples_per_second.value)
    measured = (
        each
        for each in entries
        if each.outcome is Outcome.MEASURED
        and each.configuration.run_eagerly is result.config.run_eagerly
    )
    return {update_batch(each.configuration): each for each in measured}


def _own(result: Result, known: Learning) -> str:
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
    needed, raced = examples_needed(known, batch), known.race and known.race.of(batch)
    gives = f"A global batch of {batch} instead of {known.batch} gives {faster:.2f} times the "
    if needed is None:
        return (
            f"{gives}examples per second; it pays if it needs less than {faster:.2f} times the "
            "examples to the same loss."
        )
    shown = _shown(known.race, raced) if known.race and raced else _predicted(needed)
    factor = learning_rate_factor(known, batch)
    return (
        f"{gives}examples per second and {shown}, at {factor:.2g} times the learning rate: "
        f"{answer(faster, needed)}."
    )


def _predicted(needed: Examples) -> str:
    return f"needs {times(needed)} the examples to the same loss"


def _shown(race: Race, raced: Raced) -> str:
    """Return what the trainings at a batch have shown."""
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
