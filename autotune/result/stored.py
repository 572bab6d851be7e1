"""What a search has found, as values, and the files that hold them.

config.yaml holds what was decided, for people; its facts lie beside it in result.json.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, ValidationError, computed_field

from autotune.answer import Answer, Ended, Verdict
from autotune.base import Derived, Value
from autotune.checks.certificate import Certificate
from autotune.checks.scaling import Diagnosis
from autotune.config import Configuration
from autotune.disk import write_text
from autotune.errors import (
    ConfigurationError,
    NotVerified,
    OutputError,
    first_mistake,
    in_words,
)
from autotune.machine import Machine
from autotune.objective import Scorer, objective_named
from autotune.options import MARGIN, SearchOptions
from autotune.stats.intervals import Interval
from autotune.text import size
from autotune.trial import Trial
from autotune.versions import VERSION
from autotune.workload import Workload, WorkloadFacts

RESULT = "result.json"
HEADER = """\
# What autotune decided. `autotune script FILE` renders the training program again, with another
# configuration too; `autotune verify FILE` measures it again. Both need the facts in `result`.
"""
SUFFIXES = (".yaml", ".yml")


class SavedConfiguration(Derived):
    """The part of a result that a check or another rendering needs."""

    schema_version: Literal[2] = 2
    autotune: str = VERSION
    """Version of autotune that wrote it."""
    configuration: Configuration
    """What `train.py` trains with: the recommended configuration, or a later change of it."""
    answer: Answer
    """What the search has found."""
    objective: str = "max_throughput"
    """Name of what was optimized."""
    margin: float = MARGIN
    """Minimum relative gain for which distribution is recommended."""
    certificate: Certificate | None = None
    """The correctness checks of the recommended distributed configuration."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def verdict(self) -> Verdict:
        """Whether to distribute."""
        return self.answer.verdict

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def global_batch(self) -> int:
        """Examples per step over all replicas."""
        return self.configuration.global_batch

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def examples_per_second(self) -> Interval | None:
        """Throughput of the configuration; None where it did not run."""
        found = self.answer.entry(self.configuration)
        return found.examples_per_second if found else None

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def gain_over_yours(self) -> Interval | None:
        """How many times as good as the user's own settings it is; None of these, or not known."""
        return self.answer.gain if self.configuration == self.answer.recommended else None


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


def configuration_text(saved: SavedConfiguration, result: str = RESULT) -> str:
    """Return what config.yaml holds: what was decided, how fast it is, on what, and `result`.

    That is the path of the result.json, relative to the file.
    """
    shown = {**dict(_decided(saved)), "result": result}
    return HEADER + yaml.dump(shown, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _decided(saved: SavedConfiguration) -> Iterator[tuple[str, Any]]:
    found = saved.configuration
    yield "verdict", str(saved.verdict)
    yield "configuration", _settings(found)
    yield "global_batch", saved.global_batch
    yield "objective", saved.objective
    for name in ("examples_per_second", "gain_over_yours"):
        if interval := getattr(saved, name):
            yield name, {end: float(f"{each:.4g}") for end, each in interval}
    if saved.certificate:
        yield "certificate", saved.certificate.line
    yield "workload", dict(_workload(saved.workload))
    yield "measured_on", dict(_measured_on(saved))


def _settings(found: Configuration) -> dict[str, Any]:
    """Return how it is placed, its batch, and what Keras or TensorFlow would do otherwise."""
    changed = {name: each for name, each in found.changed().items() if hasattr(found, name)}
    own = {"arguments": dict(found.arguments)} if found.arguments else {}
    always = {name: found[name] for name in ("strategy", "workers", "per_replica_batch")}
    return {**always, **changed, **own}


def _workload(workload: Workload) -> Iterator[tuple[str, Any]]:
    if workload.script:
        yield "script", workload.script.file
    for role, factory in workload.factories.items():
        yield role, factory.short_name
        if factory.arguments:
            yield f"{role.removesuffix('_fn')}_args", dict(factory.arguments)


def _measured_on(saved: SavedConfiguration) -> Iterator[tuple[str, Any]]:
    machine = saved.machine
    if len(machine.hosts) > 1:
        yield "hosts", len(machine.hosts)
    yield "processor", machine.processor
    yield "cores", machine.cpus
    yield "memory", size(machine.memory)
    if machine.gpus:
        yield "gpus", [*machine.gpus]
    if machine.tpus:
        yield "tpus", machine.tpus
    for name in ("python", "tensorflow", "keras"):
        yield name, getattr(machine, name)
    yield "autotune", saved.autotune


class _Dumper(yaml.SafeDumper):
    """Writes an interval in one line."""


def _named(dumper: _Dumper, values: dict[str, Any]) -> yaml.Node:
    figures = all(isinstance(each, float) for each in values.values())
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=figures)


_Dumper.add_representer(dict, _named)


def save_configuration(saved: SavedConfiguration, path: Path, result: Path) -> None:
    """Write a configuration to a YAML file, and into it the path of its result.json."""
    check_suffix(path)
    write_text(path, configuration_text(saved, os.path.relpath(result, path.parent)))


def check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise OutputError(f"{path} has no known file extension.", f"Use {' or '.join(SUFFIXES)}.")


def load_configuration(path: str | Path) -> SavedConfiguration:
    """Load a saved `config.yaml`, with the facts of the result.json that it names.

    The configuration is that of the file, which may have been changed since.

    Raises:
        ConfigurationError: A file cannot be read, or is not what it should be.
    """
    path = Path(path)
    given = parsed(path, yaml.safe_load, "Name another file, or fix this one.")
    if not isinstance(given, dict) or not {"configuration", "workload", "result"} <= given.keys():
        raise ConfigurationError(
            f"{path} is not a saved configuration.", "Create one with `autotune tune`."
        )
    facts = path.parent / str(given["result"])
    kept = parsed(facts, json.loads, f"Keep it where `result` in {path} says, or search again.")
    try:
        saved = SavedConfiguration.model_validate(kept, extra="ignore")
        configuration = _configuration(given["configuration"])
    except ValidationError as exc:
        raise ConfigurationError(
            f"{path} or {facts} is not what `autotune tune` writes: {first_mistake(exc)}.",
            "Fix the value, or search again.",
        ) from exc
    if given["workload"] != dict(_workload(saved.workload)):
        raise ConfigurationError(
            f"{facts} is of another workload than {path}.", "Search again, or restore the file."
        )
    if configuration == saved.configuration:
        return saved
    # Nothing was measured of another configuration.
    return saved.model_copy(update={"configuration": configuration, "certificate": None})


def folder_of_search(workload: Workload, folder: Path) -> Path | None:
    """Return the folder from which the paths of a workload hold, whose result lies in a folder.

    It is where the delivered program looks: the folder of the result, the one above it, the working
    folder, or any above. None where the workload's files are in none of these.
    """
    folder, here = folder.resolve(), Path.cwd()
    needed = bool(workload.files_below(here))
    for start in (folder, folder.parent, here, *folder.parents[1:]) if needed else (here,):
        found = workload.files_below(start).values()
        # A script may have the name of the program beside the result.
        if all(found) and folder / "train.py" not in found:
            return start
    return None


def located(saved: SavedConfiguration, path: Path) -> Path:
    """Return the folder of the search of a saved configuration.

    Raises:
        NotVerified: A file of its workload is not found.
    """
    if start := folder_of_search(saved.workload, path.parent):
        return start
    missing = " and ".join(saved.workload.files_below(path.parent))
    raise NotVerified(
        f"Not verified: found no {missing} from {path.parent}, the folders above it, or the "
        "working folder.",
        "Run it in the folder where the search ran, or move the result there.",
    )


def parsed(path: Path, parse: Callable[[str], Any], next_step: str) -> Any:
    try:
        return parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"{path} cannot be read: {in_words(exc)}.", next_step) from exc
    except (yaml.YAMLError, ValueError) as exc:
        text = " ".join(str(exc).split())
        raise ConfigurationError(f"{path} cannot be parsed: {text}.", next_step) from exc


def _configuration(given: Any) -> Configuration:
    if isinstance(given, dict) and isinstance(given.get("arguments"), dict):
        given = {**given, "arguments": tuple(given["arguments"].items())}
    return Configuration.model_validate(given)


# A pickle is good for trials only; the file keeps the text of the function instead.
PICKLES = {"workload": {name: {"pickled"} for name in ("model", "dataset", "callbacks")}}
