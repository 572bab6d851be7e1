"""The noise of the machine that the tests run on, in real processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.real

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
FOUR_RUNS = ("--engine", "counting:Counting", "--seconds", "700")
"""Each takes 150 s by that engine's clock, whatever it took."""


def test_it_tells_the_noise(run: Run) -> None:
    """Fresh runs of the built-in workload are measured, and every figure is there."""
    done = run("doctor", "--json", *FOUR_RUNS)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["runs"] == 4
    assert read["between"]["low"] < read["between"]["high"]
    assert read["within"] > 0
    assert read["ratio"]["low"] < read["ratio"]["high"]
    assert [each["seconds"] for each in read["resolutions"]] == [60, 180, 600]
    assert read["other_load"]["cores"] >= 1
