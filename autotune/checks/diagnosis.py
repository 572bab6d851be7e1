"""What was found out about the best single device and the best distributed configuration."""

from __future__ import annotations

from autotune.checks.breakdown import Breakdown
from autotune.checks.remedies import Advice
from autotune.config import Configuration
from autotune.stats import Interval
from autotune.value import Value

BEYOND = 1e12
"""Stands for infinity, which JSON has not."""


class BreakEven(Value):
    """Where distribution begins to pay, as far as one can tell from the measured steps."""

    configuration: Configuration
    batch: Interval | None = None
    """Examples of a replica from which it pays on this machine; None: not within `farthest`."""
    farthest: int
    """Largest batch of a replica of which the measured steps tell."""
    bandwidth: Interval | None = None
    """Bytes a second from which it pays between machines like this one, each with one worker; None
    where it was not measured, or no network would do."""
    gradient_bytes: Interval | None = None
    """Bytes of gradients up to which it pays on this machine, 0 where even none are too many; None
    where it was not measured, or any would do."""


class Predicted(Value):
    """A step on more hosts than were measured."""

    hosts: int
    seconds: Interval
    speedup: Interval
    """Examples a second, as a multiple of what one host processes."""


class Diagnosis(Value):
    """Where the time goes, and where distribution would begin to pay."""

    one_device: Breakdown
    distributed: Breakdown | None = None
    """Of the best distributed configuration that ran, whether it can win or not."""
    break_even: BreakEven | None = None
    """None where the time did not suffice to find out."""
    predicted: tuple[Predicted, ...] = ()
    """Of the best distributed configuration on more hosts than there are, a worker on each."""
    advice: tuple[Advice, ...] = ()
    """What helps where a step waits for its input, the most promising first."""
