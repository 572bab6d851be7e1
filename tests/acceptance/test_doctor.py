"""The noise of the machine that the tests run on, in real processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.real

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


def test_it_tells_the_noise(run: Run) -> None:
    """Fresh runs of the built-in workload are measured, and every figure is there."""
    done = run("doctor", "--seconds", "25", "--json")
    if "Give more --seconds" in done.stderr:  # The machine is slow, or has other things to do.
        done = run("doctor", "--seconds", "100", "--json", timeout=170)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["runs"] >= 4
    assert read["between"]["low"] < read["between"]["high"]
    assert read["within"] > 0
    assert read["ratio"]["low"] < read["ratio"]["high"]
    assert [each["seconds"] for each in read["resolutions"]] == [60, 180, 600]
    assert read["other_load"]["cores"] >= 1
