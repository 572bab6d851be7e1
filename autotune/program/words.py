"""What a program says of itself to its reader."""

from __future__ import annotations

import math
import re

from autotune.config import Configuration
from autotune.plain import Count
from autotune.strategies import in_short
from autotune.text import plural
from autotune.workload import Factory, Workload, WorkloadFacts

PLAIN = r"[\w.+:/ -]*"
"""What may stand in a docstring, because it cannot end one."""
UNKNOWN_STEPS = 1000
"""Steps of an epoch where nobody knows how many examples there are."""


def fixed_steps(configuration: Configuration, facts: WorkloadFacts) -> int | None:
    """Return the steps of an epoch that do not follow from its examples; None where they do.

    At the script's own batch they are as many as it makes, whatever its batches hold.
    """
    if facts.examples is None:
        return UNKNOWN_STEPS
    own, batch = facts.fit.batches if facts.fit else None, configuration.global_batch
    follows = own is None or batch != facts.usual_batch or math.ceil(facts.examples / batch) == own
    return None if follows else own


def epoch_in_words(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return in what an epoch of the program is not one of `fit`; None where it is one."""
    fixed, batch = fixed_steps(configuration, facts), configuration.global_batch
    if facts.examples is None:
        return (
            f"{plural(UNKNOWN_STEPS, 'step')} an epoch, because the number of examples is not "
            "known: --steps-per-epoch sets another"
        )
    steps = fixed or math.ceil(facts.examples / batch)
    said, borrowed = f"{plural(steps, 'step')} an epoch", steps * batch - facts.examples
    if fixed:
        return f"{said}, as the script makes, all with full batches where some of its hold fewer"
    if facts.count is not Count.EXACT:
        return f"{said} of {facts.how_many}, all with full batches"
    if borrowed and facts.batched and not facts.arrays:
        return (
            f"{said}, all with full batches; examples at the end of the data that fill none are "
            "left out"
        )
    if borrowed:
        return (
            f"{said}, the last of which takes {plural(borrowed, 'example')} of the next epoch, "
            "because all batches are full"
        )
    return None


def in_words(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    # Values for the factories stand in their calls; a text among them might end the docstring.
    short = in_short(configuration.model_copy(update={"arguments": ()}))
    text = "; ".join(filter(None, [short, epoch_in_words(configuration, facts)]))
    return {"about": _purpose(workload), "words": f"{text[0].upper()}{text[1:]}."}


def _purpose(workload: Workload) -> str:
    if workload.script:
        file = workload.script.file
        name = f" {file}" if re.fullmatch(PLAIN, file) else ""
        return f"Run your script{name} with its fit as it was tuned."
    model, dataset = _name(workload.model), _name(workload.dataset)
    return f"Train the model of {model} on the examples of {dataset}."


def _name(factory: Factory) -> str:
    if factory.module:
        return factory.short_name
    last = factory.name.rpartition(".")[2]
    return last if last.isidentifier() else "a lambda"
