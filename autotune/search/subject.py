"""What is tuned, where, and for what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from autotune.machine import Machine
from autotune.objective import THROUGHPUT, Objective, Scorer
from autotune.workload import Workload, WorkloadFacts


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A workload, what is known of it, and the machine that it is tuned on."""

    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    objective: Objective = THROUGHPUT

    @cached_property
    def scorer(self) -> Scorer:
        """Tells how good a trial is."""
        return Scorer(objective=self.objective, facts=self.facts, machine=self.machine)
