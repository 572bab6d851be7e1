"""The file that holds a configuration: all that is needed to render its program again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import tomli_w
import yaml
from pydantic import ValidationError

from autotune.automatic import Automatic
from autotune.certificate import Certificate
from autotune.config import Configuration
from autotune.errors import ConfigurationError, OutputError, first_mistake, in_words
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.recommendation.verdict import Verdict
from autotune.value import Value
from autotune.workload import Workload, WorkloadFacts

USUAL_MARGIN = 0.03
"""Unless the user says otherwise, a gain below this share is not worth the trouble."""
HEADER = "Written by autotune. `autotune script FILE` renders the training program again."


class SavedConfiguration(Value):
    """A configuration with what it was measured on, and how fast it was."""

    schema_version: Literal[1] = 1
    autotune: str
    """Version of autotune that wrote it."""
    verdict: Verdict
    configuration: Configuration
    global_batch: int
    examples_per_second: Interval | None = None
    speedup: Interval | None = None
    """As a multiple of the best single-device configuration."""
    one_device: Configuration | None = None
    """The best single-device configuration of the finals; None in a file of before."""
    best_distributed: Configuration | None = None
    """The best distributed finalist, recommended or not."""
    distributed_speedup: Interval | None = None
    """Its throughput as a multiple of the best single device's."""
    margin: float = USUAL_MARGIN
    """A gain below this share is not worth the trouble of distribution."""
    certificate: Certificate | None = None
    """What was checked of a distributed configuration; None in a file of before."""
    automatic: Automatic | None = None
    """What AUTOTUNE settled on; None where it was not read out."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    seed: int


def configuration_text(saved: SavedConfiguration, suffix: str) -> str:
    """Return what a file of some suffix holds: `.yaml`, `.json` or `.toml`.

    Raises:
        OutputError: The suffix is none of these.
    """
    dump = _dumpers().get(suffix)
    if dump is None:
        raise OutputError(f"Unknown format {suffix!r}.", "Use .yaml, .json or .toml.")
    return dump(saved.model_dump(mode="json", exclude_none=True, exclude=PICKLES))


def save_configuration(saved: SavedConfiguration, path: Path) -> None:
    """Write a configuration as YAML, JSON or TOML, as the file's suffix says.

    Raises:
        OutputError: The suffix is none of these, or the file cannot be written.
    """
    if path.suffix not in _dumpers():
        raise OutputError(f"{path} has no known file extension.", "Use .yaml, .json or .toml.")
    text = configuration_text(saved, path.suffix)
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be written: {in_words(exc)}.", "Choose another path."
        ) from exc


def load_configuration(path: str | Path) -> SavedConfiguration:
    """Load a saved `config.yaml`, or the same as JSON or TOML.

    Raises:
        ConfigurationError: The file cannot be read, or is not a saved configuration.
    """
    path = Path(path)
    loads = _LOADERS.get(path.suffix)
    if loads is None:
        raise ConfigurationError(
            f"{path} has no known file extension.", "Use .yaml, .json or .toml."
        )
    try:
        return SavedConfiguration.model_validate(loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(
            f"{path} cannot be read: {in_words(exc)}.", "Check the path."
        ) from exc
    except ValidationError as exc:
        raise ConfigurationError(
            f"{path} is not a saved configuration: {first_mistake(exc)}.",
            "Create one with `autotune tune`.",
        ) from exc
    except (yaml.YAMLError, ValueError) as exc:
        text = " ".join(str(exc).split())
        raise ConfigurationError(
            f"{path} cannot be parsed: {text}.", "Fix this line, or save the configuration again."
        ) from exc


# A pickle is good for trials only; the file keeps the text of the function instead.
PICKLES = {"workload": {name: {"pickled"} for name in ("model", "dataset", "callbacks")}}

_LOADERS: dict[str, Callable[[str], Any]] = {
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
    ".json": json.loads,
    ".toml": tomllib.loads,
}


def _dumpers() -> dict[str, Callable[[Any], str]]:
    return {
        ".yaml": _yaml,
        ".yml": _yaml,
        ".json": lambda data: json.dumps(data, indent=2) + "\n",
        ".toml": lambda data: f"# {HEADER}\n{tomli_w.dumps(data)}",
    }


def _yaml(data: Any) -> str:
    return f"# {HEADER}\n{yaml.safe_dump(data, sort_keys=False, allow_unicode=True)}"
