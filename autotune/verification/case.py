"""A saved recommendation, beside the machine and the code of today."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.reason import Rule
from autotune.result import SavedConfiguration
from autotune.search.request import Subject
from autotune.space import Situation
from autotune.workload import WorkloadFacts


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is to be verified, and where."""

    saved: SavedConfiguration
    machine: Machine
    """The one of today."""
    facts: WorkloadFacts
    """What the factories give today."""

    @property
    def subject(self) -> Subject:
        """What is run."""
        return Subject(workload=self.saved.workload, facts=self.facts, machine=self.machine)

    def why_illegal(self, configuration: Configuration) -> Rule | None:
        """Return the rule that a configuration breaks here, or None if it can run."""
        return Situation(machine=self.machine, facts=self.facts).why_illegal(configuration)
