"""A search in a real kernel, executed as Jupyter would."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.result.view import PHASES

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.real
SEARCH = """
import time
from autotune import autotune
from autotune.testing import FakeEngine

def speed(configuration):
    time.sleep(0.1)
    return 1000.0 * configuration.replicas / configuration.processes

def model_fn(): ...
def dataset_fn(): ...

result = autotune(model_fn, dataset_fn, space="quick", engine=FakeEngine(speed))
"""


class Listening(nbclient.NotebookClient):
    """Executes a notebook, and keeps what was shown in between."""

    def __init__(self, notebook: Any) -> None:
        super().__init__(notebook, timeout=500, kernel_name="python3")
        self.shown: list[str] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] == "update_display_data":
            self.shown.append(msg["content"]["data"]["text/html"])
        return super().process_message(msg, cell, cell_index)


def test_a_search_shows_its_progress_while_it_runs_and_then_its_result() -> None:
    """Of budget, phase and trials nothing stays; verdict and table stand below the result."""
    cells = [nbformat.v4.new_code_cell(source) for source in (SEARCH, "result")]
    client = Listening(nbformat.v4.new_notebook(cells=cells))
    client.execute()
    assert any(phase in each for each in client.shown for phase in PHASES.values())
    assert any("best so far" in each for each in client.shown)
    search, result = (
        "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
        for cell in client.nb.cells
    )
    assert search == ""
    assert not [each for each in client.nb.cells[0].outputs if each.output_type == "stream"]
    assert "Distribute: MirroredStrategy" in result
    assert "recommended" in result
