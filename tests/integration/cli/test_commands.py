"""The commands in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_terminal_without_unicode_loses_a_character_and_no_result() -> None:
    """Where the encoding has no `±`, the result is printed all the same."""
    code = "from autotune.cli import commands as cli; cli.app = lambda: print('12 ±4%'); cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"12 ?4%\n"
