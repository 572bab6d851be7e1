"""What a machine offers, for people."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from autotune.machine import Machine
from autotune.report.words import size
from autotune.space import space_for


def machine_table(machine: Machine) -> RenderableType:
    """Return the machine's devices, memory and software, and which space fits it."""
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(machine):
        table.add_row(Text(name, style="dim"), Text(value))
    return table


def _rows(machine: Machine) -> list[tuple[str, str]]:
    return [
        ("CPU", f"{machine.cpus} cores of {machine.processor}"),
        ("memory", size(machine.memory)),
        ("GPUs", "\n".join(machine.gpus) or "none visible to TensorFlow"),
        ("TPU cores", str(machine.tpus or "none visible to TensorFlow")),
        ("Python", machine.python),
        ("TensorFlow", machine.tensorflow),
        ("Keras", machine.keras),
        ("space auto", space_for(machine).name),
    ]
