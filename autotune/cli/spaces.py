"""`autotune spaces`: the ready-made search spaces."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli.completion import space_names
from autotune.cli.consoles import notices, put, show


def spaces(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="Space to show as a YAML file, with notes on what applies to this machine.",
            show_default=False,
            autocompletion=space_names,
        ),
    ] = None,
) -> None:
    """List the built-in search spaces, or show one as YAML."""
    # The tables need scipy by way of the measurements, which takes a second.
    from autotune.report import space_list, space_text
    from autotune.run.resolve import new_engine
    from autotune.space import AUTO, load_space, ready_made, space_for

    if name is None:
        show(space_list(ready_made()))
        return
    space = None if name == AUTO else load_space(name)
    notices().print("Inspecting the machine")
    with new_engine() as engine:
        machine = engine.machine()
    put(space_text(space or space_for(machine), machine))
