"""What a search has found, as values; its sentences and faces are made of them elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from autotune.checks.diagnosis import Diagnosis
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.objective import Scorer, objective_named
from autotune.options import SearchOptions
from autotune.program import cluster_files
from autotune.result.leaderboard import NOTHING, Entry, Leaderboard
from autotune.result.saved import SavedConfiguration
from autotune.result.verdict import Evidence
from autotune.space.origin import choices, origins
from autotune.stats import Interval
from autotune.trial import Trial
from autotune.value import Value
from autotune.workload import WorkloadFacts


class Alternative(Value):
    """The fastest configuration among those that train as the user's own settings do."""

    configuration: Configuration
    examples_per_second: Interval
    share: float
    """Its throughput as a share of the recommended configuration's."""


def _scorer(objective: str, facts: WorkloadFacts, machine: Machine) -> Scorer:
    return Scorer(objective=objective_named(objective), facts=facts, machine=machine)


def _compared(data: dict[str, Any]) -> tuple[Entry, ...]:
    rate = data["examples_per_second"]
    known = {data["configuration"]: rate} if rate else NOTHING
    scorer = _scorer(data["objective"], data["facts"], data["machine"])
    decision = data["evidence"].decision
    gains = {decision.challenger: decision.gain} if decision.gain else NOTHING
    leaderboard = Leaderboard(data["trials"], data["one_device"], known, gains, scorer)
    chosen = choices(data["machine"], data["facts"])
    return tuple(
        each.model_copy(update={"origins": origins(each.configuration, chosen)})
        for each in leaderboard.rows()
    )


class Unsaved(Value):
    """What a disk did not take, of a search or of the files of its result."""

    cause: str
    """Which disk, and why, as a sentence."""
    files: tuple[str, ...] = ()
    """Files of the result that are not there, or are those of an earlier one."""


class ResultData(SavedConfiguration):
    """All values of a result, from which every face of it is drawn."""

    evidence: Evidence
    """What the verdict rests on."""
    over_default: Interval | None
    """Speed-up of the recommended configuration over the Keras defaults on one device."""
    script: str
    """The training program, `train.py`, exactly as timed."""
    launch: str | None
    """`launch.py`, which starts all workers on this machine; None for one process."""
    unchanged_batch: Alternative | None = None
    """The fastest configuration with the default global batch size, if the recommended one has
    another."""
    trials: tuple[Trial, ...]
    """All trials, in the order in which they ran."""
    compared: tuple[Entry, ...] = Field(default_factory=_compared)
    """The finalists, then all that was explored, the fastest first."""
    diagnosis: Diagnosis | None = None
    """Where the step time goes; None if there was no time to profile it."""
    study: str
    """Name of the Optuna study."""
    seconds: float
    """Wall time of the search."""
    prepared_seconds: float = 0.0
    """Part of `seconds` before the first trial: importing TensorFlow and checking the factories."""
    screened: int = 0
    """Settings that were looked at beside the trials, to see which were worth one."""
    screening_seconds: float = 0.0
    """Part of `seconds` that this took."""
    tracing_seconds: float = 0.0
    """Part of `seconds` that the first calls of its trials took, which trace and compile."""
    measuring_seconds: float = 0.0
    """Part of `seconds` in which the steps of its trials were timed."""
    interrupted: bool = False
    """Whether the search was stopped early."""
    unsaved: Unsaved | None = None
    """What a disk did not take; None if it took everything."""
    space: str | None = None
    """Name or file of the searched space; None for one that was created in Python."""
    options: SearchOptions = SearchOptions()
    """The options of the search."""

    @property
    def config(self) -> Configuration:
        """The recommended configuration."""
        return self.configuration

    @property
    def finalists(self) -> tuple[Entry, ...]:
        """The configurations that were compared in the finals, the fastest first."""
        return tuple(each for each in self.compared if each.final)

    @property
    def explored(self) -> tuple[Entry, ...]:
        """The other configurations that were measured, the fastest first."""
        seen = {each.configuration for each in self.finalists}
        return tuple(each for each in self.compared if each.configuration not in seen)

    def leaderboard(self) -> Leaderboard:
        """Return what the trials say one by one; what they say together is `compared`."""
        scorer = _scorer(self.objective, self.facts, self.machine)
        return Leaderboard(self.trials, self.one_device, score=scorer)

    def saved(self) -> SavedConfiguration:
        """Return the content of `config.yaml`, as `autotune.verify` accepts it."""
        return SavedConfiguration(
            **{name: getattr(self, name) for name in SavedConfiguration.model_fields}
        )

    def programs(self) -> Mapping[str, str | None]:
        """Return train.py and what starts its processes, by name; None for what it needs not."""
        return {
            "train.py": self.script,
            "launch.py": self.launch,
            **cluster_files(self.configuration, self.machine),
        }
