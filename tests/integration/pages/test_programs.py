"""The Python of the pages that needs TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs.blocks import PAGES, needs_tensorflow, programs
from tools.docs.pages import ROOT

NEEDY = [path for path in PAGES if needs_tensorflow(path)]


@pytest.mark.real
@pytest.mark.parametrize("path", NEEDY, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_of_a_page_runs(path: Path, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text("\n\n".join(programs(path)))
    done = subprocess.run(
        [sys.executable, str(program)], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
