"""How long an epoch of a program is, beside one of the user's own `fit`."""

from __future__ import annotations

import math

from autotune.config import Configuration
from autotune.program.text import count
from autotune.workload import WorkloadFacts

UNKNOWN_STEPS = 1000
"""Steps of an epoch where nobody knows how many examples there are."""


def epoch_in_words(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return in what an epoch of the program is not one of `fit`; None where it is one."""
    if facts.examples is None:
        return (
            f"{count(UNKNOWN_STEPS, 'step')} an epoch, because the number of examples is not "
            "known: --steps-per-epoch sets another"
        )
    steps = math.ceil(facts.examples / configuration.global_batch)
    borrowed = steps * configuration.global_batch - facts.examples
    if borrowed:
        return (
            f"{count(steps, 'step')} an epoch, the last of which takes "
            f"{count(borrowed, 'example')} of the next epoch, because all batches are full"
        )
    if facts.fit and facts.fit.partial:
        return (
            f"{count(steps, 'step')} an epoch, all with full batches, where the last one of the "
            "script may hold fewer examples"
        )
    return None
