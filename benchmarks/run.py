"""All figures of `make bench`, one after the other: runs side by side would spoil each other."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("overhead.py", "start_of_trial.py", "recommendations.py")


def main() -> None:
    """Run each benchmark as its own program, none with what an earlier search remembers."""
    os.environ["AUTOTUNE_CACHE"] = "off"
    for name in PARTS:
        print(f"\n== {name}", flush=True)
        runpy.run_path(str(HERE / name), run_name="__main__")


if __name__ == "__main__":
    main()
