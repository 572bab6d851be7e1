"""`autotune spaces`: the ready-made search spaces."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli.completion import space_names
from autotune.cli.consoles import notices, put, show
from autotune.cli.engine import start_engine


def spaces(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="One space, with what of it applies on this machine, as a file to copy.",
            show_default=False,
            autocompletion=space_names,
        ),
    ] = None,
) -> None:
    """List the ready-made search spaces, or show one with what applies on this machine."""
    # The tables need scipy by way of the measurements, which takes a second.
    from autotune.report import space_list, space_text
    from autotune.space import AUTO, load_space, ready_made, space_for

    if name is None:
        show(space_list(ready_made()))
        return
    space = None if name == AUTO else load_space(name)
    notices().print("Looking at the machine")
    with start_engine() as engine:
        machine = engine.machine()
    put(space_text(space or space_for(machine), machine))
