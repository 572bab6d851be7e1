"""What is tuned, and where."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.machine import Machine
from autotune.workload import Workload, WorkloadFacts


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A workload, what is known of it, and the machine that it is tuned on."""

    workload: Workload
    facts: WorkloadFacts
    machine: Machine
