"""Which configurations are right or wrong together."""

from __future__ import annotations

from autotune.config import Configuration, axes, default_of


def family(configuration: Configuration) -> Configuration:
    """Return what stands for all configurations that are distributed in the same way.

    One step per call and several are told apart, because they may be trained by other programs.
    """
    usual = {name: default_of(name) for name, axis in axes().items() if axis.speed_only}
    several = configuration.steps_per_execution > 1
    return configuration.taking({**usual, "steps_per_execution": 1 + several})
