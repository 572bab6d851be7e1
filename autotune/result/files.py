"""The files of a result: what each is for, and its text."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from autotune.config import axes
from autotune.disk import write_text
from autotune.library import modules_for
from autotune.program import cluster_files
from autotune.reason.sentences import reason_text
from autotune.result.stored import PICKLES, RESULT, ResultData, configuration_text
from autotune.trial import Trial

TRIALS = "trials.jsonl"
"""From this and result.json a result can be read back."""
REPORT = "report.html"
COLUMNS = (
    *("number", "stage", "outcome", "reason", "examples_per_second", "error"),
    *("start_seconds", "first_step_seconds", "wall_seconds", "peak_memory"),
)
"""Columns of trials.csv, before one for each axis."""


class OutputFile(NamedTuple):
    name: str
    meaning: str
    text: Callable[[ResultData], str | None] | None
    """Its text, or None where this result needs no such file; no function for what is written by
    the search itself, and for the report."""
    part: str = ""
    """By which the service names a program; empty for what has an address of its own."""


def _module(name: str, meaning: str) -> OutputFile:
    file = f"{name}.py"
    meaning = f"what train.py imports: {meaning}"
    return OutputFile(file, meaning, lambda result: modules_for(result.script).get(file), name)


def _launcher(name: str, system: str, part: str) -> OutputFile:
    meaning = f"starts them on several machines with {system}"
    return OutputFile(
        name, meaning, lambda r: cluster_files(r.configuration, r.machine)[name], part
    )


def _patch(result: ResultData) -> str | None:
    return "".join(f"# {each}\n" for each in result.patch_notes) + result.patch or None


FILES = (
    OutputFile(
        "config.yaml",
        "what was decided, for `autotune script` and `autotune verify`",
        configuration_text,
    ),
    OutputFile(
        "train.py", "the training program, exactly as timed", lambda result: result.script, "train"
    ),
    _module("keras_training", "options, checkpoints, the learning rate"),
    _module("keras_multiworker", "the training loop of several replicas"),
    _module("keras_servers", "the training loop with parameter servers"),
    _module("keras_script", "runs the script"),
    _module("keras_notebook", "reads the notebook"),
    _module("keras_input", "makes datasets of what `fit` takes"),
    OutputFile(
        "train.patch",
        "a change of your script to these settings (`patch -p1 < train.patch`)",
        _patch,
        "patch",
    ),
    OutputFile(
        "launch.py",
        "starts all workers, on this machine or by ssh on several (`--hosts`)",
        lambda result: result.launch,
        "launch",
    ),
    _launcher("launch.slurm", "Slurm", "slurm"),
    _launcher("jobset.yaml", "Kubernetes (JobSet)", "jobset"),
    _launcher("launch_ray.py", "Ray (`ray job submit`)", "ray"),
    OutputFile(
        RESULT,
        "the result without its trials, with the facts that config.yaml needs",
        lambda r: r.model_dump_json(exclude={"trials": True, **PICKLES}) + "\n",
    ),
    OutputFile("trials.csv", "all trials, one row each", lambda r: trials_csv(r.trials)),
    OutputFile(
        TRIALS,
        "all trials with their timings",
        lambda r: "".join(trial.model_dump_json() + "\n" for trial in r.trials),
    ),
    OutputFile(REPORT, "the report, a self-contained page", None),
    OutputFile("study.db", "the Optuna study", None),
)
"""Every file of a search, in the order in which they are written: the smallest first."""
PROGRAMS = {each.part: each for each in FILES if each.part}


def texts(result: ResultData) -> dict[str, str | None]:
    """Return what the files of a result hold, by name, but its report; None for no file."""
    return {each.name: each.text(result) for each in FILES if each.text}


def programs(result: ResultData) -> dict[str, str | None]:
    """Return train.py, its modules, and what starts its processes; None for what is not needed."""
    return {each.name: each.text(result) for each in PROGRAMS.values() if each.text}


def written(folder: Path) -> dict[str, Path]:
    """Return the files that a search wrote into its folder, by name."""
    paths = {each.name: folder / each.name for each in FILES}
    return {name: path for name, path in paths.items() if path.is_file()}


def write_program(path: Path, text: str) -> None:
    """Write a program, and the modules that it imports beside it."""
    for name, each in {path.name: text, **modules_for(text)}.items():
        write_text(path.with_name(name), each)


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
