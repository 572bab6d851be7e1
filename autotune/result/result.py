"""The result of a search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, computed_field, model_validator

from autotune.config import Configuration
from autotune.diagnose.diagnosis import Diagnosis
from autotune.errors import ConfigurationError, first_mistake, in_words
from autotune.machine import Machine
from autotune.objective import Scorer, objective_named
from autotune.options import SearchOptions
from autotune.program import cluster_files
from autotune.result.files import put_texts, trials_csv
from autotune.result.leaderboard import NOTHING, Entry, Leaderboard
from autotune.result.saved import PICKLES, SavedConfiguration, configuration_text
from autotune.result.verdict import Grounds
from autotune.space.origin import choices, origins
from autotune.stats import Interval
from autotune.trial import Trial
from autotune.value import Value
from autotune.workload import WorkloadFacts

if TYPE_CHECKING:
    from pandas import DataFrame

RESULT, TRIALS = "result.json", "trials.jsonl"
"""From these two a result can be read back."""
WINDOWS = {"trials": {"__all__": {"windows"}}}
"""What JSON for people leaves out; trials.jsonl holds it."""


class Alternative(Value):
    """The fastest configuration among those that train as the user's own settings do."""

    configuration: Configuration
    examples_per_second: Interval
    share: float
    """Its throughput as a share of the recommended configuration's."""


def _scorer(objective: str, facts: WorkloadFacts, machine: Machine) -> Scorer:
    return Scorer(objective=objective_named(objective), facts=facts, machine=machine)


def _compared(data: dict[str, Any]) -> tuple[Entry, ...]:
    told = data["examples_per_second"]
    known = {data["configuration"]: told} if told else NOTHING
    scorer = _scorer(data["objective"], data["facts"], data["machine"])
    decision = data["grounds"].decision
    gains = {decision.challenger: decision.gain} if decision.gain else NOTHING
    board = Leaderboard(data["trials"], data["one_device"], known, gains, scorer)
    chosen = choices(data["machine"], data["facts"])
    return tuple(
        each.model_copy(update={"origins": origins(each.configuration, chosen)})
        for each in board.rows()
    )


class Unsaved(Value):
    """What a disk did not take, of a search or of the files of its result."""

    cause: str
    """Which disk, and why, as a sentence."""
    files: tuple[str, ...] = ()
    """Files of the result that are not there, or are those of an earlier one."""


class Result(SavedConfiguration):
    """The result of a search: the configuration to train with, why, and the program for it."""

    grounds: Grounds
    """What the verdict rests on; `summary` and `reasons` put it into words."""
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

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def summary(self) -> str:
        """The verdict as a sentence."""
        text: str = _face("verdict", "summary")(self)
        return text

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, one sentence each, the most important first."""
        texts: tuple[str, ...] = _face("verdict", "reasons")(self)
        return texts

    @model_validator(mode="before")
    @classmethod
    def _without_sentences(cls, data: Any) -> Any:
        """Drop what is made anew from the values."""
        if not isinstance(data, dict):
            return data
        return {name: each for name, each in data.items() if name not in ("summary", "reasons")}

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

    def board(self) -> Leaderboard:
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

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-serializable data, the same as `autotune tune --json`."""
        told: dict[str, Any] = json.loads(self.model_dump_json(exclude={**PICKLES, **WINDOWS}))
        return told

    def save(self, folder: str | Path) -> Path:
        """Write the configuration, program, trials and report to a folder.

        The files are `config.yaml`, `train.py`, `result.json`, `trials.csv`, `trials.jsonl` and
        `report.html`; for several workers also `launch.py` (this machine), `launch.slurm`,
        `jobset.yaml` and `launch_ray.py` (several machines).

        Args:
            folder: Created if missing; existing files of these names are overwritten.

        Returns:
            The folder.

        Raises:
            OutputError: The folder or a file is not writable.
        """
        folder = Path(folder)
        put_texts(folder, self.texts())
        return folder

    def texts(self) -> Mapping[str, str | None]:
        """Return what the files of `save` hold, by name, the smallest first; None for no file."""
        return {
            "config.yaml": configuration_text(self.saved(), ".yaml"),
            **self.programs(),
            RESULT: self.model_dump_json(exclude={"trials": True, **PICKLES}) + "\n",
            "trials.csv": trials_csv(self.trials),
            TRIALS: "".join(trial.model_dump_json() + "\n" for trial in self.trials),
            "report.html": self.report(),
        }

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result back: all but factories that were passed as functions.

        Args:
            path: A folder that `autotune tune` or `result.save()` has written, or its result.json.

        Raises:
            ConfigurationError: It is not there, cannot be read, or is damaged.
        """
        folder = Path(path).parent if Path(path).name == RESULT else Path(path)
        try:
            kept = json.loads((folder / RESULT).read_text("utf-8"))
            # Not `splitlines`: what a trial printed may hold other characters that end a line.
            with (folder / TRIALS).open(encoding="utf-8") as lines:
                trials = [json.loads(line) for line in lines]
            return cls.model_validate_json(json.dumps({**kept, "trials": trials}))
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigurationError(
                f"{folder} holds no result that can be read: {in_words(exc)}.",
                "Name a folder that `autotune tune` or `result.save()` has written.",
            ) from exc
        except ValidationError as exc:
            raise ConfigurationError(
                f"{folder / RESULT} is no saved result: {first_mistake(exc)}.",
                "Read it with the version of autotune that wrote it, or search again.",
            ) from exc
        except (ValueError, TypeError) as exc:
            raise ConfigurationError(
                f"{folder / RESULT} or {TRIALS} is damaged: {' '.join(str(exc).split())}.",
                "Search again.",
            ) from exc

    def report(self) -> str:
        """Return the report, a self-contained HTML page."""
        text: str = _face("html.page", "page")(self)
        return text

    def trials_frame(self) -> DataFrame:
        """Return all trials as a pandas DataFrame, one row per trial, indexed by number.

        The columns are those of `trials.csv`, the axes of the configuration, and `vs_one_device`,
        the throughput relative to the best single-device configuration.

        Raises:
            MissingPackage: pandas is not installed.
        """
        frame: DataFrame = _face("analysis", "trials_frame")(self)
        return frame

    def __str__(self) -> str:
        """Return the verdict and the table, as the command prints them."""
        text: str = _face("result", "brief")(self)
        return text

    __repr__ = __str__  # A notebook keeps it beside the HTML; all fields would be megabytes.

    def _repr_html_(self) -> str:
        """Return the verdict, the table and the grounds for a notebook's cell."""
        text: str = _face("notebook", "result_html")(self)
        return text


def _face(module: str, name: str) -> Callable[..., Any]:
    """Return a function that shows results, found by name because its module knows this one."""
    found: Callable[..., Any] = getattr(import_module(f"autotune.report.{module}"), name)
    return found
