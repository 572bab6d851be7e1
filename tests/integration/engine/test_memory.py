"""How much memory a trial holds and may hold."""

from __future__ import annotations

import subprocess
import sys

from autotune.engine.memory import MemoryGauge


def test_descendants_of_a_process_that_is_gone() -> None:
    """A process that has ended holds nothing."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    gauge = MemoryGauge(process.pid, 1)
    assert not gauge.exceeded()
    assert gauge.peak == 0
