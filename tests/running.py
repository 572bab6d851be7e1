"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path


def python(folder: Path, *arguments: str | Path, **variables: str) -> str:
    """Return what it printed on stdout; it must not fail."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
