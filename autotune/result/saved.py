"""The file that holds a configuration, from which its program can be rendered again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import tomli_w
import yaml
from pydantic import Field, ValidationError

from autotune.checks.certificate import Certificate
from autotune.config import Configuration
from autotune.errors import ConfigurationError, OutputError, first_mistake, in_words
from autotune.installed import VERSION
from autotune.machine import Machine
from autotune.options import MARGIN
from autotune.result.files import write_text
from autotune.result.verdict import Verdict
from autotune.stats import Interval
from autotune.value import Value
from autotune.workload import Workload, WorkloadFacts

HEADER = "Written by autotune. `autotune script FILE` renders the training program again."


class SavedConfiguration(Value):
    """The part of a result that `config.yaml` holds: what a check or another rendering needs."""

    schema_version: Literal[1] = 1
    autotune: str = VERSION
    """Version of autotune that wrote it."""
    verdict: Verdict
    """Whether to distribute."""
    configuration: Configuration
    global_batch: int = Field(default_factory=lambda data: data["configuration"].global_batch)
    """Examples per step over all replicas."""
    examples_per_second: Interval | None = None
    """Throughput of the recommended configuration: in the finals, or else while exploring."""
    objective: str = "max_throughput"
    """Name of what was optimized."""
    value: Interval | None = None
    """Its value for the recommended configuration, likewise."""
    best_distributed_speedup: Interval | None = None
    """Speed-up of the best distributed configuration over the best single-device configuration,
    whichever is recommended: in the finals, or while exploring if none was in them; None if none
    was measured."""
    one_device: Configuration
    """The best single-device configuration in the finals."""
    best_distributed: Configuration | None = None
    """The best distributed configuration in the finals, recommended or not."""
    margin: float = MARGIN
    """Minimum relative gain for which distribution is recommended."""
    certificate: Certificate | None = None
    """The correctness checks of the recommended distributed configuration."""
    workload: Workload
    facts: WorkloadFacts
    machine: Machine
    seed: int


def configuration_text(saved: SavedConfiguration, suffix: str) -> str:
    """Return what a file of some suffix holds: `.yaml`, `.json` or `.toml`."""
    dump = _DUMPERS.get(suffix)
    if dump is None:
        raise OutputError(f"{suffix!r} is no known file extension.", "Use .yaml, .json or .toml.")
    return dump(saved.model_dump(mode="json", exclude_none=True, exclude=PICKLES))


def save_configuration(saved: SavedConfiguration, path: Path) -> None:
    """Write a configuration as YAML, JSON or TOML, as the file's suffix says."""
    write_text(path, configuration_text(saved, path.suffix))


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


class _Dumper(yaml.SafeDumper):
    """Writes numbers side by side, as there may be hundreds, and what else is named beside them."""


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, int | float) for each in value)


def _listed(dumper: _Dumper, values: list[Any]) -> yaml.Node:
    beside = bool(values) and _numbers(values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=beside)


def _named(dumper: _Dumper, values: dict[str, Any]) -> yaml.Node:
    lists = [each for each in values.values() if isinstance(each, list)]
    others = [each for each in values.values() if not isinstance(each, list)]
    beside = bool(lists) and all(map(_numbers, lists)) and _numbers(others)
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=beside)


_Dumper.add_representer(list, _listed)
_Dumper.add_representer(dict, _named)


def _yaml(data: Any) -> str:
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return f"# {HEADER}\n{text}"


_DUMPERS: dict[str, Callable[[Any], str]] = {
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": lambda data: json.dumps(data, indent=2) + "\n",
    ".toml": lambda data: f"# {HEADER}\n{tomli_w.dumps(data)}",
}
