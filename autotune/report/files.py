"""Which files a search leaves behind, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_MEANING: Mapping[str, str] = {
    "config.yaml": "the configuration, for `autotune script` and `autotune verify`",
    "train.py": "the training program, exactly as timed",
    "launch.py": "starts all workers on this machine",
    "launch.slurm": "starts them on several machines with Slurm",
    "jobset.yaml": "starts them on several machines with Kubernetes (JobSet)",
    "report.html": "the report, a self-contained page",
    "result.json": "the result without its trials, for `autotune report`",
    "trials.csv": "all trials, one row each",
    "trials.jsonl": "all trials with their timings",
    "study.db": "the Optuna study",
}


def written(folder: Path) -> dict[str, Path]:
    """Return the files that a search wrote into its folder, by name."""
    found = {name: folder / name for name in _MEANING}
    return {name: path for name, path in found.items() if path.is_file()}


def meaning(name: str) -> str:
    """Return what a file is for."""
    return _MEANING[name]
