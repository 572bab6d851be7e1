"""What a configuration's run has to pass before its rate is that of later epochs."""

from __future__ import annotations

import math

from autotune.config import Configuration
from autotune.measure import Epoch
from autotune.search.request import Subject

EVENT_SECONDS = 0.05
"""A wait at the end of an epoch that is shorter does not change a rate that is worth a verdict."""


def epoch_of(configuration: Configuration, subject: Subject) -> Epoch:
    """Return what is known of a configuration's epochs before it runs."""
    facts, batch = subject.facts, configuration.global_batch
    again = facts.second_pass or facts.first_pass
    pause = again.pause if again else 0.0
    prefetch = configuration.prefetch if isinstance(configuration.prefetch, int) else 0
    return Epoch(
        steps=facts.examples / batch if facts.examples else math.inf,
        # Each worker has a pipeline of its own.
        ready=facts.prefetched * configuration.workers / batch + prefetch,
        pause=pause,
        eventful=pause > EVENT_SECONDS or subject.workload.callbacks is not None,
    )
