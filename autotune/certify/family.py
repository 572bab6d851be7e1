"""Which configurations are right or wrong together."""

from __future__ import annotations

from autotune.config import Configuration

_SPEED_ONLY = (
    *("per_replica_batch", "steps_per_execution", "prefetch", "num_parallel_calls"),
    *("private_threads", "threads_per_process"),
)
"""Axes that change how fast a training is and not what it does with which examples."""


def family(configuration: Configuration) -> Configuration:
    """Return what stands for all configurations that are distributed in the same way.

    One step per call and several are told apart, because they may be trained by other programs.
    """
    usual = {name: Configuration.model_fields[name].default for name in _SPEED_ONLY}
    several = configuration.steps_per_execution > 1
    return configuration.model_copy(update={**usual, "steps_per_execution": 1 + several})
