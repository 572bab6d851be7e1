"""How runs of some seconds scatter, and what that costs (`make bench-run-length`).

    python -m benchmarks.run_length.bench [WORKLOAD ...] [--rounds 6] [--out PAGE --since TEXT]

Run it where nothing else runs; some four minutes for each workload.
"""

from __future__ import annotations

import math
import random
import tempfile
from argparse import Namespace
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from autotune.config import Configuration
from autotune.engine.base import Engine, RunResult, Stop, Watch
from autotune.engine.resolve import reserved_engine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.plain import Window
from autotune.reason import Completed, Outcome
from autotune.search.design import nearest
from autotune.search.epochs import epoch_of
from autotune.search.request import Subject
from autotune.search.runner import request_of
from autotune.search.stopping import PATIENCE, SETTLE_SECONDS
from autotune.space import candidates
from autotune.stats.windows import Epoch, read, steady_from
from autotune.strategies import in_short
from benchmarks.page import page_of, parser_of, this_machine
from benchmarks.replay.characters import character

WORKLOADS = ("python_input", "wide_dense", "gru")
SECONDS = (0.8, 1.5, PATIENCE, 5.0, 8.0, 12.0)
"""Lengths that are compared, past the warm-up."""
LATEST = max(SECONDS) + SETTLE_SECONDS
"""After so long a run is ended that does not settle."""
BOOTSTRAPS = 2000
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Reading:
    """What one run shows."""

    around: float
    """Seconds that it took beside its steady steps."""
    logs: tuple[float, ...]
    """log(steps per second) of its first seconds, for each length."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """The runs of one configuration."""

    workload: str
    configuration: Configuration
    runs: Sequence[Reading]
    """Those that settled."""

    def scatter(self, length: int) -> float:
        """Return the standard deviation between runs of one of the lengths."""
        return stdev(run.logs[length] for run in self.runs)

    @property
    def around(self) -> float:
        """Seconds that a run takes beside its steady steps."""
        return fmean(run.around for run in self.runs)

    def seconds(self, length: int) -> float:
        """Return what a run of one of the lengths takes."""
        return self.around + SECONDS[length]


def main() -> None:
    asked = _asked()
    page = page_of(asked, HEAD)
    arms: list[Arm] = []
    with reserved_engine(None, "a benchmark of the length of runs", print) as engine:
        for name in asked.workloads or WORKLOADS:
            arms += _measured(name, engine, asked.rounds)
    found = [f"{this_machine()}.", "", *_figures(arms, asked.rounds)]
    page.show(found)


def _measured(name: str, engine: Engine, rounds: int) -> list[Arm]:
    """Run one device and several replicas of a workload in turns."""
    swept = character(name)
    machine, facts = engine.machine(), engine.execute(InspectionRequest(swept.workload))
    subject = Subject(workload=swept.workload, machine=machine, facts=facts)
    found = candidates(swept.space, machine, facts, swept.constraints)
    default = nearest(Configuration(), found.one_device)
    last = [c for c in found.distributed if c.strategy == found.distributed[-1].strategy]
    arms = [default, *([nearest(default, last)] if last else [])]
    shuffle = random.Random(0)  # noqa: S311 - an order of runs
    readings: dict[Configuration, list[Reading]] = {arm: [] for arm in arms}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for arm in shuffle.sample(arms, len(arms)):
                request = request_of(arm, subject, Path(folder) / f"{number}-{arms.index(arm)}")
                epoch = epoch_of(arm, subject)
                result = engine.execute(request, _long_watch(epoch))
                readings[arm] += _read(result, epoch)
    return [Arm(workload=name, configuration=arm, runs=readings[arm]) for arm in arms]


def _long_watch(epoch: Epoch) -> Watch:
    """Return what ends a run after the longest of all lengths."""

    def watch(windows: Sequence[Window]) -> Stop | None:
        start = steady_from(windows, epoch)
        if start is not None and _seconds(windows[start:]) >= max(SECONDS):
            return Stop(Outcome.MEASURED, Completed())
        late = _seconds(windows) >= LATEST
        return Stop(Outcome.UNSTABLE, Completed()) if late else None

    return watch


def _read(result: RunResult, epoch: Epoch) -> Iterator[Reading]:
    """Yield what a run shows, if it settled."""
    start = steady_from(result.windows, epoch)
    if result.outcome is Outcome.MEASURED and start is not None:
        steady = result.windows[start:]
        logs = tuple(first_seconds(steady, seconds) for seconds in SECONDS)
        yield Reading(result.wall_seconds - _seconds(steady), logs)


def first_seconds(steady: Sequence[Window], seconds: float) -> float:
    """Return log(steps per second) of the first windows that last so long."""
    ends = [*accumulate(window.seconds for window in steady)]
    return math.log(read(steady[: bisect_left(ends, seconds) + 1]).steps_per_second)


def _seconds(windows: Sequence[Window]) -> float:
    return sum(window.seconds for window in windows)


def _figures(arms: Sequence[Arm], rounds: int) -> Iterator[str]:
    titles = [f"{seconds:g} s" for seconds in SECONDS]
    yield f"{rounds} rounds. Scatter of runs of so many seconds:"
    yield ""
    yield f"| workload | configuration | runs | beside the steps | {' | '.join(titles)} |"
    yield "| --- | --- | ---: | ---: |" + " ---: |" * len(SECONDS)
    for arm in arms:
        shown = [f"{arm.scatter(length):.1%}" for length in range(len(SECONDS))]
        around = f"{arm.around:.1f} s"
        cells = (arm.workload, in_short(arm.configuration), str(len(arm.runs)), around, *shown)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"| | {' | '.join(titles)} |"
    yield "| --- |" + " --- |" * len(SECONDS)
    compared = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in _compared(arms)]
    what = f"variance times time, as a multiple of that of {PATIENCE:g} s"
    yield f"| {what} | {' | '.join(compared)} |"


def _compared(arms: Sequence[Arm]) -> Iterator[tuple[float, float, float]]:
    """Yield for each length what it is worth beside `PATIENCE`, with its interval."""
    draw = np.random.default_rng(0)
    drawn = [worth(_again(arms, draw)) for _ in range(BOOTSTRAPS)]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    yield from zip(worth(arms), low, high, strict=True)


def _again(arms: Sequence[Arm], draw: np.random.Generator) -> list[Arm]:
    """Return the same arms with their runs drawn again, of which two differ at least."""
    found = []
    for arm in arms:
        chosen: list[int] = []
        while len({*chosen}) < 2:
            chosen = [*draw.integers(len(arm.runs), size=len(arm.runs))]
        found.append(replace(arm, runs=[arm.runs[number] for number in chosen]))
    return found


def worth(arms: Sequence[Arm]) -> list[float]:
    """Return for each length its variance times its time, as a multiple of that of `PATIENCE`."""
    usual = SECONDS.index(PATIENCE)
    logs = [
        [math.log(arm.scatter(length) ** 2 * arm.seconds(length)) for length in range(len(SECONDS))]
        for arm in arms
    ]
    return [
        math.exp(fmean(each[length] - each[usual] for each in logs))
        for length in range(len(SECONDS))
    ]


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="default: all")
    parser.add_argument("--rounds", type=int, default=6)
    return parser.parse_args()


if __name__ == "__main__":
    main()
