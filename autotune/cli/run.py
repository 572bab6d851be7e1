"""`autotune run`: train with what was recommended."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from autotune.cli.console import log, write_out
from autotune.errors import UsageError

OUT = Path("autotune-out")
Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="What `autotune tune` or `result.save()` has written."),
]
Place = Literal["local", "slurm", "ray"]


def run(
    *,
    folder: Folder = OUT,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- ARGUMENTS]",
            help="Of train.py, such as -- --epochs 20; -- --help lists them.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        Place, typer.Option(help="What starts the workers: this machine or ssh, Slurm, or Ray.")
    ] = "local",
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOST,...", help="Hosts of the workers, reached by ssh.", show_default=False
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the command and start nothing.")
    ] = False,
) -> None:
    """Train with what was recommended, by all workers that it takes.

    Each line is prefixed by its worker. Each epoch is saved: Ctrl-C ends the training, and the same
    command goes on from there.
    """
    words = arguments or []
    if str(folder).startswith("-"):  # autotune run -- --epochs 20
        folder, words = OUT, [str(folder), *words]
    command = command_for(folder, words, on, hosts)
    if show:
        return write_out(shlex.join(command) + "\n")
    return become(command)


def command_for(
    folder: Path, arguments: Sequence[str], on: Place = "local", hosts: str | None = None
) -> list[str]:
    train, launch = folder / "train.py", folder / "launch.py"
    if not train.is_file():
        raise UsageError(
            f"There is no train.py in {folder}.",
            "Name the folder that `autotune tune` has written.",
        )
    if not launch.is_file():
        if hosts or on != "local":
            raise UsageError(
                "This training takes one process, which no launcher starts.",
                f"Run it on a machine of your choice: autotune run {folder}.",
            )
        return [sys.executable, str(train), *arguments]
    if hosts and on != "local":
        raise UsageError("--hosts names hosts for ssh.", f"Omit it: {on} chooses them.")
    if on == "ray":
        return [sys.executable, str(folder / "launch_ray.py"), *arguments]
    if on == "slurm":
        return _by_slurm(folder, train, arguments)
    return [sys.executable, str(launch), *(["--hosts", hosts] if hosts else []), *arguments]


def _by_slurm(folder: Path, train: Path, arguments: Sequence[str]) -> list[str]:
    """Return what runs in the allocation that there is, or else submits a job and waits for it."""
    script = [str(folder / "launch.slurm"), str(train), *arguments]
    if "SLURM_JOB_NODELIST" in os.environ:
        return ["bash", *script]
    if shutil.which("sbatch") is None:
        raise UsageError("There is no sbatch here.", "Start it on a machine that submits to Slurm.")
    return ["sbatch", "--wait", f"--output={folder / 'slurm-%j.txt'}", *script]


def become(command: Sequence[str]) -> None:
    """Go on as another program, which so gets every signal and has the exit code."""
    log(f"Running: {shlex.join(command)}")
    sys.stdout.flush()
    # TensorFlow tells what it found when it starts; what goes wrong is an exception.
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    os.execvpe(command[0], [*command], environment)  # noqa: S606 - the command is that of `--print`
