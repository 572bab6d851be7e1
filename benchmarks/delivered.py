"""Throughput that autotune promises, against what its program delivers in a longer run.

    python benchmarks/delivered.py [EXAMPLE ...]
        [--space quick] [--budget 90s] [--seconds 30] [--repeats 3]

For each example (default: digits lstm python_input wide_dense): a search; then the program that it
handed over, train.py or launch.py, in fresh processes in which there is no autotune. Promised is
the figure of the finals; delivered is the mean over all of the time past a warm-up, ends of epochs
included. Run it where nothing else runs: about two and a half minutes for each example.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from threading import Timer

from autotune import Result, autotune

EXAMPLES = Path(__file__).parents[1] / "examples"
DEFAULT = ("digits", "lstm", "python_input", "wide_dense")
LONG_RUN = Path(__file__).with_name("long_run.py")
MARK = "examples per second: "
WARM_UP = 3.0
"""Seconds past the first call."""
PATIENCE = 120.0
"""Seconds for a program to start and compile, beside those of the run."""


def main() -> None:
    """Print a row for each run, then the figures to reach."""
    asked = _asked()
    # What an earlier search remembers is no part of this promise.
    os.environ["AUTOTUNE_CACHE"] = "off"
    print(
        f"space {asked.space}, budget {asked.budget}, {asked.repeats} runs of {asked.seconds:g} s"
    )
    print(f"{'example':<14}{'promised, examples/s':<32}{'delivered':>10}{'ratio':>8}  verdict")
    ratios = []
    for name in asked.examples or DEFAULT:
        with tempfile.TemporaryDirectory() as folder:
            ratios += _rows(name, asked, Path(folder))
    off = [abs(ratio - 1) for ratio in ratios]
    if off:
        print(f"|ratio - 1|: median {median(off):.1%} (goal 3%), largest {max(off):.1%} (goal 5%)")


def _rows(name: str, asked: Namespace, folder: Path) -> list[float]:
    """Return delivered over promised for each run of an example."""
    factory = str(EXAMPLES / f"{name}.py")
    result = autotune(
        f"{factory}:model_fn",
        f"{factory}:dataset_fn",
        space=asked.space,
        budget=asked.budget,
        out=folder / "search",
    )
    promised = result.examples_per_second
    if promised is None:
        print(f"{name:<14}there were no finals: increase --budget", flush=True)
        return []
    command = _command(result, folder, asked.seconds)
    rates = [_delivered(command, asked.seconds) for _ in range(asked.repeats)]
    for rate in rates:
        ratio = rate / promised.value
        print(
            f"{name:<14}{promised!s:<32}{rate:>10,.0f}{ratio:>8.3f}  {result.verdict}", flush=True
        )
    mean = math.exp(fmean(math.log(rate / promised.value) for rate in rates))
    print(f"{name:<14}{'mean':<32}{'':>10}{mean:>8.3f}", flush=True)
    return [rate / promised.value for rate in rates]


def _command(result: Result, folder: Path, seconds: float) -> list[str]:
    """Return what trains as the user would, with a clock in the first process."""
    program = folder / "search" / "train.py"
    arguments = [MARK, str(program), str(result.config.global_batch), str(WARM_UP), str(seconds)]
    if result.launch is None:
        return [sys.executable, str(LONG_RUN), *arguments]
    # launch.py starts the train.py that lies beside it, and hands its own arguments on.
    gang = folder / "gang"
    gang.mkdir()
    shutil.copy(LONG_RUN, gang / "train.py")
    shutil.copy(folder / "search" / "launch.py", gang)
    return [sys.executable, str(gang / "launch.py"), *arguments]


def _delivered(command: Sequence[str], seconds: float) -> float:
    """Return the examples per second of one run, and leave nothing of it behind."""
    with subprocess.Popen(
        command,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        # launch.py ends its workers at this; a training of one process just goes.
        watchdog = Timer(PATIENCE + WARM_UP + seconds, process.terminate)
        watchdog.start()
        printed = []
        try:
            for line in process.stdout or ():
                printed.append(line)
                if MARK in line:
                    return float(line.partition(MARK)[2])
        finally:
            watchdog.cancel()
            process.terminate()
    raise SystemExit(f"{' '.join(command)} measured nothing:\n{''.join(printed[-20:])}")


def _asked() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--space", default="quick")
    parser.add_argument("--budget", default="90s")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
