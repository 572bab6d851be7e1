"""What was found out about the baseline and the best distributed configuration."""

from __future__ import annotations

from autotune.diagnose.break_even import BreakEven
from autotune.diagnose.breakdown import Breakdown
from autotune.value import Value


class Diagnosis(Value):
    """Where the time goes, and where distribution would begin to pay."""

    one_device: Breakdown
    distributed: Breakdown | None = None
    """Of the best distributed configuration that ran, whether it can win or not."""
    break_even: BreakEven | None = None
    """None where the time did not suffice to find out."""
