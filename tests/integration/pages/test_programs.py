"""The Python of the pages that needs TensorFlow."""

from pathlib import Path

import pytest

from tests.running import python
from tools.docs.blocks import PAGES, needs_tensorflow, programs
from tools.docs.pages import ROOT

NEEDY = [path for path in PAGES if needs_tensorflow(path)]


@pytest.mark.real
@pytest.mark.parametrize("path", NEEDY, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_of_a_page_runs(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text("\n\n".join(programs(path)))
    python(tmp_path, program)
