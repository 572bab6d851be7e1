"""What tests of real trials and inspections share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("autotune.testing.contract")

from autotune.engine.local import LocalEngine  # noqa: E402
from autotune.engine.tasks.inspect import InspectionRequest  # noqa: E402
from autotune.workload import WorkloadFacts, script_from_text, script_workload  # noqa: E402

InspectScript = Callable[..., WorkloadFacts]
NO_BACKLOG = (
    "__import__('autotune.engine.child.inspect_dataset', fromlist=['_'])._BACKLOG_SECONDS = 0.0"
)
"""Ends the inspection of Python input after two passes, where its backlog is not looked for.

What a script imports by a statement would be searched for its fit."""


@pytest.fixture
def inspect_script(engine: LocalEngine, tmp_path: Path) -> InspectScript:
    """Return a function that inspects the text of a script."""

    def inspect(text: str, *arguments: str, fit: str | None = None) -> WorkloadFacts:
        path = tmp_path / "my train.py"
        path.write_text(text)
        script = script_from_text(str(path), arguments, fit)
        return engine.execute(InspectionRequest(script_workload(script)))

    return inspect
