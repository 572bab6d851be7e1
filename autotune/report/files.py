"""Which files a search leaves behind, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_MEANING: Mapping[str, str] = {
    "config.yaml": "the configuration; `autotune script` renders its program again",
    "train.py": "the training program, byte for byte the one that was timed",
    "launch.py": "starts its workers on this machine",
    "launch.slurm": "starts them on several machines, under Slurm",
    "jobset.yaml": "starts them on several machines, as a JobSet of Kubernetes",
    "report.html": "all of it as a page for people, in one file",
    "result.json": "all of it but the trials; `autotune report` writes report.html from it",
    "trials.csv": "every trial, a row each",
    "trials.jsonl": "every trial with its timed windows",
    "study.db": "the Optuna study",
}


def written(folder: Path) -> dict[str, Path]:
    """Return the files that a search wrote into its folder, by name."""
    found = {name: folder / name for name in _MEANING}
    return {name: path for name, path in found.items() if path.is_file()}


def meaning(name: str) -> str:
    """Return what a file is for."""
    return _MEANING[name]
