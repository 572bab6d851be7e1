"""`autotune machine` and `autotune spaces`: what there is, and what may be searched on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import log, show, write_out

if TYPE_CHECKING:
    from rich.console import RenderableType

    from autotune.machine import Machine
    from autotune.space import Space

SPACE_KINDS = {
    "cpu": "a machine without accelerators",
    "gpu": "one GPU",
    "gpus": "several GPUs",
    "tpu": "a TPU",
}


def machine(*, engine: take.Engine = "local", json: take.Json = False) -> None:
    """Show the devices, memory and software that TensorFlow sees on this machine."""
    from autotune.engine.resolve import new_engine

    log("Inspecting the machine")
    with new_engine(engine) as running:
        found = running.machine()
    write_out(found.model_dump_json(indent=2) + "\n") if json else show(machine_table(found))


def spaces(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="Space to show as a YAML file.",
            show_default=False,
            autocompletion=take.space_names,
        ),
    ] = None,
) -> None:
    """List the built-in search spaces, or show one as YAML."""
    from autotune.engine.resolve import new_engine
    from autotune.space import AUTO, load_space, ready_made, space_file, space_for

    if name is None:
        return show(space_list(ready_made()))
    if name == AUTO:
        log("Inspecting the machine")
        with new_engine() as engine:
            name = space_for(engine.machine()).name
    load_space(name)  # So that a mistake in a file is told.
    return write_out(space_file(name))


def space_list(spaces: Mapping[str, Space]) -> RenderableType:
    from rich.text import Text

    from autotune.result.terminal import columns

    table = columns("space", "for", "auto uses it on")
    for name, space in spaces.items():
        kind = SPACE_KINDS.get(space.chosen_for or "", "")
        table.add_row(name, space.description, Text(kind, style="dim"))
    return table


def machine_table(machine: Machine) -> RenderableType:
    from autotune.result.terminal import named

    return named(_rows(machine))


def _rows(machine: Machine) -> Iterator[tuple[str, str]]:
    from autotune.space import space_for
    from autotune.text import plural, size

    if len(machine.hosts) > 1:
        has = ([plural(h.cpus, "core"), *h.gpus, size(h.memory)] for h in machine.hosts)
        each = (f"{h.name}: {', '.join(m)}" for h, m in zip(machine.hosts, has, strict=True))
        yield "machines", "\n".join(each)
    yield "CPU", f"{machine.cpus} cores of {machine.processor}"
    yield "memory", size(machine.memory)
    yield "GPUs", "\n".join(machine.gpus) or "none visible to TensorFlow"
    yield "TPU cores", str(machine.tpus or "none visible to TensorFlow")
    yield "Python", machine.python
    yield "TensorFlow", machine.tensorflow
    yield "Keras", machine.keras
    yield "space auto", space_for(machine).name
