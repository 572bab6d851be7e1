"""A search in a real kernel, executed as Jupyter would."""

from __future__ import annotations

import pytest

from autotune.result.view import PHASES
from autotune.trial import Stage

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


def test_a_search_tells_its_progress_and_then_its_result() -> None:
    """Phases and trials stand as lines below the search; verdict and table below the result."""
    cells = [nbformat.v4.new_code_cell(source) for source in (SEARCH, "result")]
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(cells=cells), timeout=500, kernel_name="python3"
    )
    client.execute()
    search, result = (each.outputs for each in client.nb.cells)
    assert {each.output_type for each in search} == {"stream"}
    told = "".join(each.text for each in search)
    assert all(phase in told for phase in (PHASES[Stage.BASELINE], PHASES[Stage.EXPLORE]))
    assert "measured" in told
    shown = "".join(each.data["text/html"] for each in result)
    assert "Distribute: MirroredStrategy" in shown
    assert "recommended" in shown
