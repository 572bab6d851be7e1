"""What tests of real trials and inspections share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest
from autotune.machine import Host, Machine
from autotune.workload import (
    Factory,
    Workload,
    WorkloadFacts,
    script_from_text,
    script_workload,
)

Inspect = Callable[..., WorkloadFacts]
MACHINE = Machine(hosts=(Host(cpus=2, memory=2**34, processor="x"),))
_SET = "__import__('autotune.engine.child.inspected', fromlist=['_'])"
SOON = f"{_SET}._COUNTING_SECONDS = 1.0\n"
"""Ends reading what is endless, which would take all the time there is.

What a script imports by a statement would be searched for its fit."""
BUSY = "from autotune.engine.child import inspected as it\nit._COUNTING_SECONDS = 0.0\n"
"""Leaves the inspection no time to count."""


def in_module(folder: Path, text: str, *more: str, module: str = "mine") -> Workload:
    """Write a module, and return the workload of its factories: `more` beside model and dataset."""
    (folder / f"{module}.py").write_text(text)
    return Workload(
        **{
            role: Factory(name=f"{role}_fn", module=module, root=str(folder))
            for role in ("model", "dataset", *more)
        }
    )


def in_script(folder: Path, text: str, *arguments: str, fit: str | None = None) -> Workload:
    path = folder / "my train.py"
    path.write_text(text)
    return script_workload(script_from_text(str(path), arguments, fit))


@pytest.fixture
def inspect_script(engine: LocalEngine, tmp_path: Path) -> Inspect:
    def inspect(text: str, *arguments: str, fit: str | None = None) -> WorkloadFacts:
        return engine.execute(InspectionRequest(in_script(tmp_path, text, *arguments, fit=fit)))

    return inspect
