"""What a search recommended, verified in real processes. Nothing here depends on speeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Done, Run

pytestmark = pytest.mark.real

TWO_ROUNDS = ("--engine", "counting:Counting", "--seconds", "700")
"""Each of its runs takes 150 s by that engine's clock, whatever it took."""


@pytest.fixture(scope="module")
def verified(run: Run, search: Done) -> Done:
    """A check of the configuration that the search wrote."""
    assert search.returncode == 0, search.stderr
    return run("verify", "autotune-out/config.yaml", "--json", *TWO_ROUNDS)


def test_it_answers_with_figures_and_exit_code(verified: Done) -> None:
    """The program ran, its throughput is told, and the exit code is that of the answer."""
    read = json.loads(verified.stdout)
    assert verified.returncode == int(read["answer"] == "fails"), verified.stderr
    assert read["summary"]
    assert read["examples_per_second"]["value"] > 0
    assert read["ratio_to_expected"]["value"] > 0
    assert read["notes"] == []
    assert verified.stderr.count("measured") >= 1


def test_a_program_that_crashes_today_fails(run: Run, search: Done, project: Path) -> None:
    """The model factory was edited since, and is wrong now."""
    assert search.returncode == 0, search.stderr
    file = project / "examples" / "digits.py"
    before = file.read_text()
    file.write_text(before + "\n\ndef model_fn():\n    raise RuntimeError('not yet done')\n")
    try:
        done = run("verify", "autotune-out/config.yaml")
    finally:
        file.write_text(before)
    assert done.returncode == 1, done.stderr
    assert "not yet done" in done.stdout
    assert "Traceback" not in done.stderr
