"""What other programs take of the cores."""

from __future__ import annotations

import os
import subprocess
import sys

from autotune.engine.load import read_counters

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_our_own_children_are_ours_even_when_they_have_ended() -> None:
    """Of a grandchild that is gone, its parents' account tells."""
    before = read_counters()
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert read_counters().own - before.own >= 0.3


def test_others_are_not_ours() -> None:
    """This process and its children are not among the others."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        others = {int(name.rpartition(" ")[2].rstrip(")")) for name in read_counters().others}
        child.kill()
    assert not others & {os.getpid(), child.pid}
