"""`autotune script`: the program of a saved configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.consoles import notices, put
from autotune.cli.text import write_text


def script(
    *,
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG",
            help="A configuration that `autotune tune` has saved.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program here instead of to stdout."),
    ] = None,
) -> None:
    """Render the training program of a saved configuration again."""
    # Rendering needs most of autotune, which would make every other command start slower.
    from autotune.recommendation import load_configuration
    from autotune.script import render

    saved = load_configuration(config)
    program = render(saved.configuration, saved.workload, saved.facts, saved.machine)
    if out:
        write_text(out, program.train)
    else:
        put(program.train)
    if program.launch:
        processes = saved.configuration.processes
        notices().print(
            f"It trains as one of {processes} processes. The launch.py that `autotune tune` wrote "
            "starts them, if this program is saved as train.py beside it."
        )
