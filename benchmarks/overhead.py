"""What the tuner itself costs: its import, its memory, and its time between trials."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

DIGITS = Path(__file__).parents[1] / "examples" / "digits.py"


def main() -> None:
    """Print each figure with its goal."""
    print(f"import autotune                 {_import_seconds():.3f} s   (goal: below 0.3 s)")
    _search()


def _import_seconds() -> float:
    """The median of nine fresh processes, less what an empty one takes."""
    times: dict[str, list[float]] = {"import autotune": [], "pass": []}
    for _ in range(9):
        for code, seconds in times.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            seconds.append(time.perf_counter() - began)
    return median(times["import autotune"]) - median(times["pass"])


def _search() -> None:
    """Time a real search, and ask this very process for its largest size."""
    from autotune import autotune  # noqa: PLC0415 - its import is timed above

    with tempfile.TemporaryDirectory() as out:
        result = autotune(
            f"{DIGITS}:model_fn", f"{DIGITS}:dataset_fn", space="quick", budget="60s", out=out
        )
    inside = sum(trial.wall_seconds for trial in result.trials)
    prepared = result.prepared_seconds
    between = result.seconds - inside - prepared
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest size of the tuner       {size:.0f} MiB   (goal: below 200)")
    print(f"search, whole                   {result.seconds:.1f} s, {len(result.trials)} trials")
    print(f"  inside trials                 {inside / result.seconds:.1%}")
    print(f"  between trials                {between / result.seconds:.1%}   (goal: below 2 %)")
    print(f"  once, before the first trial  {prepared:.1f} s: TensorFlow's import, preflight")


if __name__ == "__main__":
    main()
