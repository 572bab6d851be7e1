"""`autotune script` and `report`: from what a search has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import log, write_out

REPORT = "report.html"


def script(
    *,
    config: take.Saved = take.OUT,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program to this file instead of stdout."),
    ] = None,
) -> None:
    """Print the training program of a saved configuration."""
    from autotune.library import modules_for
    from autotune.program import render
    from autotune.result import load_configuration
    from autotune.result.files import write_program

    saved = load_configuration(config)
    program = render(saved.configuration, saved.workload, saved.facts, saved.machine)
    if out:
        write_program(out, program.train)
    else:
        write_out(program.train)
        log(f"It imports {', '.join(modules_for(program.train))}, which --out writes beside it.")
    if program.launch:
        log(
            f"This program is one of {saved.configuration.processes} processes. To start them all, "
            "save it as train.py next to the launch.py written by `autotune tune`."
        )


def report(*, folder: take.Folder = take.OUT) -> None:
    """Write report.html again, from the other files of a result."""
    from autotune.disk_errors import put_texts
    from autotune.result import Result

    put_texts(folder, {REPORT: Result.load(folder).report()})
    log(f"Written: {folder / REPORT}")
