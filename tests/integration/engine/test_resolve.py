"""The commands on an engine that a package adds."""

import json
import os
from pathlib import Path

from tests.fleet import fleet_package
from tests.running import python

ROOT = Path(__file__).parents[3]
"""Holds the fake engine, which the package's engine derives from."""


def autotune(folder: Path, package: Path, *arguments: str) -> str:
    path = os.pathsep.join(map(str, (package, ROOT)))
    return python(folder, "-m", "autotune", *arguments, PYTHONPATH=path)


def test_the_commands_run_on_an_engine_that_a_package_adds(tmp_path: Path) -> None:
    """`--engine` takes it, and the search asks it for everything."""
    package = fleet_package(tmp_path)
    (tmp_path / "mine.py").write_text("def model_fn(): ...\ndef dataset_fn(): ...\n")
    call = ("tune", "mine.py:model_fn", "mine.py:dataset_fn", "--space", "quick")
    autotune(tmp_path, package, *call, "--budget", "90s", "--engine", "fleet://here")
    assert "at fleet://here" in (tmp_path / "autotune-out" / "config.yaml").read_text()
    shown = autotune(tmp_path, package, "machine", "--engine", "fleet://there", "--json")
    assert json.loads(shown)["tensorflow"] == "at fleet://there"
