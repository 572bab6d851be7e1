"""What an A/A test says of a machine."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.trial import Trial
from autotune.value import Value
from autotune.verification.resolution import Resolution


class OtherLoad(Value):
    """What other programs took while the runs lasted."""

    cores: int
    """Cores that there are."""
    busy: float
    """Mean number of cores that other programs kept busy."""
    stolen: float
    """Mean number of cores that the hypervisor withheld."""
    busiest: str | None
    """The program that used most of it."""
    noticeable: bool
    """Whether it can have disturbed the timings."""


class Checkup(Value):
    """How much timings scatter on a machine, and what can be told apart all the same."""

    machine: Machine
    workload: str
    """What was trained."""
    configuration: Configuration
    """With which settings: the same in every run."""
    examples_per_second: Interval
    between: Interval
    """Standard deviation of log(throughput) between fresh runs, with its 95 % interval."""
    within: float
    """Standard deviation of log(rate) between the windows of a run, of 0.1 s or one call each."""
    runs: int
    """Runs that were measured."""
    pairs: int
    ratio: Interval
    """Of two runs of the same configuration that took turns: one lies in it, unless noise is not
    what the comparisons take it for, or by chance in one check out of twenty."""
    pair_seconds: float
    """Wall time of a pair."""
    resolutions: tuple[Resolution, ...]
    other_load: OtherLoad | None
    """None where the machine cannot be looked at."""
    seconds: float
    """Wall time, TensorFlow's import included."""
    trials: tuple[Trial, ...]

    @property
    def sound(self) -> bool:
        """Whether the interval of the A/A ratio contains one."""
        return self.ratio.low <= 1 <= self.ratio.high
