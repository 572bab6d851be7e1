"""`autotune machine` and `autotune spaces`: what there is, and what may be searched on it."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import put, say, show


def machine(
    *,
    engine: take.Engine = "local",
    json: take.Json = False,
) -> None:
    """Show the devices, memory and software that TensorFlow sees on this machine."""
    from autotune.engine.resolve import new_engine

    say("Inspecting the machine")
    with new_engine(engine) as running:
        found = running.machine()
    if json:
        put(found.model_dump_json(indent=2) + "\n")
    else:
        # The tables need scipy by way of the measurements, which takes a second.
        from autotune.report import machine_table

        show(machine_table(found))


def spaces(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="Space to show as a YAML file, with notes on what applies to this machine.",
            show_default=False,
            autocompletion=take.space_names,
        ),
    ] = None,
) -> None:
    """List the built-in search spaces, or show one as YAML."""
    # The tables need scipy by way of the measurements, which takes a second.
    from autotune.engine.resolve import new_engine
    from autotune.report import space_list, space_text
    from autotune.space import AUTO, load_space, ready_made, space_for

    if name is None:
        show(space_list(ready_made()))
        return
    space = None if name == AUTO else load_space(name)
    say("Inspecting the machine")
    with new_engine() as engine:
        machine = engine.machine()
    put(space_text(space or space_for(machine), machine))
