"""`make demo`: a training that its search makes shorter, by the clock on the wall."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from autotune.result import Result
from autotune.text import roughly

SCRIPT = "examples/tabular.py"
OUT = Path("autotune-out/demo")
SEARCH = ("--out", str(OUT))


def main() -> int:
    """Train, and return the exit code of that."""
    shutil.rmtree(OUT, ignore_errors=True)
    command = Path(sys.executable).with_name("autotune")
    began = time.monotonic()
    code = subprocess.run([command, "run", *SEARCH, SCRIPT], check=False).returncode
    seconds = time.monotonic() - began
    if code == 0:
        own = Result.load(OUT).answer.own_seconds
        instead = f", search included, instead of about {roughly(own.value)}" if own else ""
        print(f"\nTrained in {roughly(seconds)}{instead}.")  # noqa: T201 - for whoever watches
    return code


if __name__ == "__main__":
    sys.exit(main())
