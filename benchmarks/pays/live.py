"""Times `autotune run train.py` against `python train.py` (`make bench-live`).

    python -m benchmarks.pays.live [--workloads a,b] [--seconds 180] [--turns 2]
                                   [--out PAGE --since TEXT]

Both in turns, where nothing else runs. A ratio above 1.05 makes the command fail.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from autotune import Result
from autotune.strategies import in_short
from benchmarks.page import ROOT, page_of, parser_of, this_machine

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
SCRIPT = Path(__file__).with_name("train.py")
AUTOTUNE = Path(sys.executable).with_name("autotune")
UNTUNED = ("birdsong", "weather", "molecules", "scans")
MOST = 1.05
"""The highest ratio at which a search does no harm."""
STEPS = re.compile(r"(\d+)/\d+ - \S+ - (\d+)(s|ms|us)/step")
"""What Keras prints after an epoch: its steps, and the time of one."""
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


class Turn(NamedTuple):
    """A training by the script, and one by `autotune run`."""

    workload: str
    epochs: int
    script: float
    """Seconds."""
    tuned: float
    """Seconds, search included."""
    result: Result

    @property
    def ratio(self) -> float:
        return self.tuned / self.script

    def __str__(self) -> str:
        answer, chosen = self.result.answer, in_short(self.result.config)
        return (
            f"| {self.workload} | {self.epochs} | {self.script:.0f} | {self.tuned:.0f} | "
            f"{answer.searched:.0f} | {self.ratio:.2f} | {chosen} |"
        )


def main() -> int:
    """Return 1 where a ratio is too high."""
    asked = _asked()
    page, machine = page_of(asked, HEAD), this_machine()
    turns = []
    for workload in asked.workloads.split(","):
        for turn in _turns(workload, asked.seconds, asked.turns):
            print(turn, flush=True)
            turns.append(turn)
    page.show([*_figures(turns), "", f"{machine}."])
    return int(any(each.ratio > MOST for each in turns))


def _figures(turns: Sequence[Turn]) -> Iterator[str]:
    yield "| | epochs | script, s | `autotune run`, s | of it search, s | ratio | trained with |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | --- |"
    yield from map(str, turns)
    ratios = [each.ratio for each in turns]
    yield ""
    yield (
        f"Ratios of {len(ratios)} turns: {median(ratios):.2f} in the median, {max(ratios):.2f} at "
        f"most; the goal is at most {MOST:.2f} in each, and a median below 1."
    )


def _turns(workload: str, seconds: float, turns: int) -> Iterator[Turn]:
    with tempfile.TemporaryDirectory() as folder:
        call = [str(SCRIPT), workload, "--epochs"]
        _, printed = _timed([sys.executable, *call, "2"], folder)
        epochs = max(round(seconds / _epoch(printed)), 1)
        for number in range(turns):
            out = f"out-{number}"
            script, _ = _timed([sys.executable, *call, str(epochs)], folder)
            run = [str(AUTOTUNE), "run", "--out", out, *call, str(epochs)]
            tuned, _ = _timed(run, folder)
            yield Turn(workload, epochs, script, tuned, Result.load(Path(folder, out)))


def _epoch(printed: str) -> float:
    """Return the seconds of the last epoch that Keras has told of."""
    steps, time_of_step, unit = STEPS.findall(printed)[-1]
    return float(steps) * float(time_of_step) * UNITS[unit]


def _timed(command: Sequence[str], folder: str) -> tuple[float, str]:
    """Return the seconds that a command takes, and what it prints; fail where it does."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "2"}
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return seconds, done.stdout


def _asked() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--workloads", default=",".join(UNTUNED))
    parser.add_argument("--seconds", type=float, default=180.0, help="that a script trains, about")
    parser.add_argument("--turns", type=int, default=2, help="of each workload")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
