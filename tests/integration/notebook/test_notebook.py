"""A search in a real kernel, executed as Jupyter would."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
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
    time.sleep(0.2)
    return 1000.0 * configuration.replicas / configuration.processes

def model_fn(): ...
def dataset_fn(): ...

result = autotune(model_fn, dataset_fn, space="quick", engine=FakeEngine(speed))
"""
CELLS = (
    SEARCH,
    "result",
    "result.trials_frame()[['outcome', 'examples_per_second']].head(3)",
)


class Listening(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
    """Executes a notebook, and keeps what was shown in between."""

    def __init__(self, notebook: Any) -> None:
        super().__init__(notebook, timeout=500, kernel_name="python3")
        self.shown: list[str] = []

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """Keep the HTML of an update."""
        if msg["msg_type"] == "update_display_data":
            self.shown.append(msg["content"]["data"]["text/html"])
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def executed() -> Listening:
    """The notebook, all cells run."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    client = Listening(nbformat.v4.new_notebook(cells=cells))
    client.execute()
    return client


def html(executed: Listening, cell: int) -> str:
    """What a cell shows in the end."""
    outputs = executed.nb.cells[cell].outputs
    return "".join(output["data"].get("text/html", "") for output in outputs if "data" in output)


def test_progress_is_shown_while_it_runs_and_goes_away(executed: Listening) -> None:
    """Budget, phase and trials are in the cell's output, and in the end nothing is."""
    assert any(phase in each for each in executed.shown for phase in PHASES.values())
    assert any("best so far" in each for each in executed.shown)
    assert html(executed, 0) == ""
    assert not [each for each in executed.nb.cells[0].outputs if each.output_type == "stream"]


def test_the_result_shows_itself(executed: Listening) -> None:
    """The verdict and the table stand below the cell that names the result."""
    assert "Distribute: MirroredStrategy" in html(executed, 1)
    assert "recommended" in html(executed, 1)


def test_the_trials_are_a_table(executed: Listening) -> None:
    """As pandas shows it."""
    assert "measured" in html(executed, 2)


def test_it_goes_through_nbconvert(executed: Listening, tmp_path: Path) -> None:
    """The page of the notebook holds the result."""
    convert = shutil.which("jupyter-nbconvert", path=str(Path(sys.executable).parent))
    if convert is None:
        pytest.skip("nbconvert is not installed here")
    nbformat.write(executed.nb, tmp_path / "search.ipynb")
    subprocess.run([convert, "--to", "html", tmp_path / "search.ipynb"], check=True)
    assert "recommended" in (tmp_path / "search.html").read_text()
