"""`autotune machine`: what the machine offers."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli import options as take
from autotune.cli.consoles import notices, put, show


def machine(
    *,
    engine: take.Engine = "local",
    json: Annotated[
        bool, typer.Option("--json", help="Print the result to stdout as JSON.")
    ] = False,
) -> None:
    """Show the devices, memory and software that TensorFlow sees on this machine."""
    from autotune.run.resolve import new_engine

    notices().print("Inspecting the machine")
    with new_engine(engine) as running:
        found = running.machine()
    if json:
        put(found.model_dump_json(indent=2) + "\n")
    else:
        # The tables need scipy by way of the measurements, which takes a second.
        from autotune.report import machine_table

        show(machine_table(found))
