"""The files of a result: their names, the table of trials, and how a folder is written."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from autotune.config import axes
from autotune.errors import OutputError, in_words
from autotune.library import modules_for
from autotune.reason.sentences import reason_text
from autotune.trial import Trial

COLUMNS = (
    *("number", "stage", "outcome", "reason", "examples_per_second", "error"),
    *("start_seconds", "first_step_seconds", "wall_seconds", "peak_memory"),
)
"""Columns of trials.csv, before one for each axis."""

MEANINGS: Mapping[str, str] = {
    "config.yaml": "what was decided, for `autotune script` and `autotune verify`",
    "train.py": "the training program, exactly as timed",
    "keras_training.py": "what train.py imports: options, checkpoints, the learning rate",
    "keras_multiworker.py": "what train.py imports: the training loop of several replicas",
    "keras_servers.py": "what train.py imports: the training loop with parameter servers",
    "keras_script.py": "what train.py imports: runs the script",
    "keras_notebook.py": "what train.py imports: reads the notebook",
    "keras_input.py": "what train.py imports: makes datasets of what `fit` takes",
    "train.patch": "a change of your script to these settings (`patch -p1 < train.patch`)",
    "launch.py": "starts all workers, on this machine or by ssh on several (`--hosts`)",
    "launch.slurm": "starts them on several machines with Slurm",
    "jobset.yaml": "starts them on several machines with Kubernetes (JobSet)",
    "launch_ray.py": "starts them on several machines with Ray (`ray job submit`)",
    "report.html": "the report, a self-contained page",
    "result.json": "the result without its trials, with the facts that config.yaml needs",
    "trials.csv": "all trials, one row each",
    "trials.jsonl": "all trials with their timings",
    "study.db": "the Optuna study",
}
"""Every file of a search, with what it is for."""


def written(folder: Path) -> dict[str, Path]:
    """Return the files that a search wrote into its folder, by name."""
    found = {name: folder / name for name in MEANINGS}
    return {name: path for name, path in found.items() if path.is_file()}


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be written: {in_words(exc)}.", "Choose another path."
        ) from exc


def write_program(path: Path, text: str) -> None:
    """Write a program, and the modules that it imports beside it."""
    for name, each in {path.name: text, **modules_for(text)}.items():
        write_text(path.with_name(name), each)


def put_texts(folder: Path, texts: Mapping[str, str | None]) -> None:
    """Replace files of a folder, by name, which is made if it does not exist; None removes one."""
    for error in put_each(folder, texts).values():
        raise OutputError(
            f"{folder} cannot be written: {in_words(error)}.", "Choose another --out."
        ) from error


def put_each(folder: Path, texts: Mapping[str, str | None]) -> dict[str, OSError]:
    """Replace those files of a folder that can be; return why the others, by name, cannot be."""
    failed = {}
    for name, text in texts.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _put(folder / name, text)
        except OSError as exc:
            failed[name] = exc
    return failed


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def trials_csv(trials: Sequence[Trial]) -> str:
    text = io.StringIO()
    heads = [*COLUMNS, *axes(), "arguments"]
    table = csv.DictWriter(text, heads, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for trial in trials:
        own = " ".join(f"{n}={value}" for n, value in trial.configuration.own_values().items())
        figures = {name: getattr(trial, name) for name in COLUMNS}
        # A spreadsheet would compute what begins so; names and errors are of the user's program.
        words = {"reason": reason_text(trial.reason), "arguments": own}
        words = {n: f"'{each}" if each.startswith(_FORMULA) else each for n, each in words.items()}
        table.writerow(trial.configuration.values() | figures | words)
    return text.getvalue()


def _put(path: Path, text: str | None) -> None:
    """Replace a file at once, so that nobody reads half of it; None removes it."""
    if text is None:
        path.unlink(missing_ok=True)
        return
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, "utf-8")
        os.replace(draft, path)  # noqa: PTH105 - the atomic one, named as such
    except OSError:
        with suppress(OSError):
            draft.unlink()  # A full disk may take a smaller file then.
        raise
