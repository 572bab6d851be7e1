"""`autotune script`, `report` and `ui`: from what a search has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import log, write_out
from autotune.errors import UsageError

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
    from autotune.result import Result
    from autotune.result.files import put_texts

    put_texts(folder, {REPORT: Result.load(folder).report()})
    log(f"Written: {folder / REPORT}")


def ui(
    *,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Folders of `autotune tune`, or a folder of such folders."
        ),
    ] = [take.OUT],  # noqa: B006 - typer only reads it
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8322,
) -> None:
    """Show results in a browser: charts, trials and what they printed, several compared.

    It needs the packages of the service: the extra `service`.
    """
    from autotune.installed import check_service

    check_service()
    from autotune.api.errors import SettingsError
    from autotune.api.http.local import show

    try:
        show(folders, port, lambda where: write_out(f"{where} shows the results. Ctrl-C ends.\n"))
    except SettingsError as exc:
        raise UsageError(exc.cause, "Choose another --port.") from exc
