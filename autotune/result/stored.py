"""What a search has found, as values; its sentences and faces are made of them elsewhere."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from autotune.answer import Ended
from autotune.base import Value
from autotune.checks.scaling import Diagnosis
from autotune.config import Configuration
from autotune.objective import Scorer, objective_named
from autotune.options import SearchOptions
from autotune.result.saved import SavedConfiguration
from autotune.stats.intervals import Interval
from autotune.trial import Trial


class Unsaved(Value):
    """What a disk did not take, of a search or of the files of its result."""

    cause: str
    """Which disk, and why, as a sentence."""
    files: tuple[str, ...] = ()
    """Files of the result that are not there, or are those of an earlier one."""


def _sum_of_parts(given: Any) -> Any:
    """Read a stored result that tells validation and checkpoint apart."""
    return sum(filter(None, given.values())) if isinstance(given, dict) else given


class ResultData(SavedConfiguration):
    """All values of a result, from which every face of it is drawn."""

    script: str
    """The training program, `train.py`, exactly as timed."""
    launch: str | None
    """`launch.py`, which starts all workers on this machine; None for one process."""
    patch: str = ""
    """What to change in the user's own script instead, for `patch -p1`; empty where nothing is."""
    why_no_patch: str = ""
    """Why a script cannot be changed so, as a sentence."""
    patch_notes: tuple[str, ...] = ()
    """What came of running the changed script, and what in it is not as in `train.py`."""
    patch_gain: Interval | None = None
    """How many times as good as the script as it is the changed one is, of one run each; None where
    that was not measured."""
    trials: tuple[Trial, ...]
    """All trials, in the order in which they ran."""
    diagnosis: Diagnosis | None = None
    """Where the step time goes; None if there was no time to profile it."""
    between: Annotated[float | None, BeforeValidator(_sum_of_parts)] = None
    """Seconds of validation and checkpoints between two epochs, which were not timed with the
    program; None if there was no time to measure them."""
    study: str
    """Name of the Optuna study."""
    made_for: Mapping[str, str] = {}
    """What it holds for, such as the program and the machine, each with its fingerprint."""
    prepared_seconds: float = 0.0
    """Part of the search before the first trial: importing TensorFlow, checking the factories."""
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
    def seconds(self) -> float:
        """Wall time of the search."""
        return self.answer.searched

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped early."""
        return self.answer.ended is Ended.INTERRUPTED

    @property
    def adjective(self) -> str:
        """What a better configuration is, as in `1.3 times as fast`."""
        return self.scorer.objective.adjective

    @property
    def scorer(self) -> Scorer:
        """Tells how good a trial is."""
        objective = objective_named(self.objective)
        return Scorer(objective=objective, facts=self.facts, machine=self.machine)

    def saved(self) -> SavedConfiguration:
        """Return what `autotune.verify` needs of it, and `load_configuration` returns."""
        return SavedConfiguration(
            **{name: getattr(self, name) for name in SavedConfiguration.model_fields}
        )
