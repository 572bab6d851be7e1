"""autotune against other tuners, live, on the same space, machine and clock, in parts.

    python -m benchmarks.peers.compare [--seeds 10] [--minutes 60] [--out PAGE --since TEXT]

A part is one workload with one seed: all contestants search, then their recommendations are
measured again in turns, and a row for each contestant is appended to `rows.jsonl`. A part that has
its rows is not run again, nor is a search that ended; the page is made from the rows that there
are. A row holds for the commit that made it.
"""

import argparse
import ctypes
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from statistics import fmean, median

import psutil

from autotune.base import Value
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest
from autotune.options import SearchOptions
from autotune.space import candidates, load_space
from autotune.stats.intervals import Interval
from autotune.workload import Workload, factory_from_text
from benchmarks.page import ROOT, in_words, page_of, parser_of
from benchmarks.parts import add_rows, read_rows
from benchmarks.peers.job import Entry, Job, read_log, recommended
from benchmarks.peers.search import on_engine
from benchmarks.share import ITSELF, Share, ratio_in_turns

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""What stands before the figures."""
WORKLOADS = {
    "digits": "examples/digits.py",
    "lstm": "examples/lstm.py",
    "python_input": "examples/python_input.py",
    "forecast": "benchmarks/replay/workloads/forecast.py",
    "pictures": "benchmarks/replay/workloads/pictures.py",
}
CONTESTANTS = {
    "autotune": ("autotune", ("with_autotune",)),
    "tpe": ("TPE on autotune's engine", ("search", "tpe")),
    "random": ("random search on autotune's engine", ("search", "random")),
    "keras_tuner": ("KerasTuner", ("with_keras_tuner",)),
}
"""Titles, and the module of each with what follows the job."""
GRACE_SECONDS = 30.0
"""A contestant that still runs so long after the limit is ended."""
_PR_SET_CHILD_SUBREAPER = 36
ROWS, ENDED = "rows.jsonl", "ended"
"""Files: the rows of all parts, and one in the folder of a contestant whose search is over."""
Rates = Mapping[Configuration, Mapping[int, float]]
"""Examples per second of each configuration, by turn."""


class Row(Value):
    """How a contestant did on one workload with one seed."""

    workload: str
    seed: int
    contestant: str
    trials: int
    recommended: Configuration | None
    share: Interval | None
    """Throughput of the recommendation, as a share of the best of all."""
    over_one_device: Interval | None
    """The same as a multiple of the best single device."""
    gain: Interval | None
    """The best distributed configuration as a multiple of the best single device."""

    @property
    def wrong(self) -> bool:
        """Whether more than one replica is recommended though that is significantly slower."""
        over = self.over_one_device
        return self._distributed and over is not None and over.high < 1

    @property
    def missed(self) -> bool:
        """Whether one device is recommended though a significant gain was to be had."""
        one_device = self.recommended is not None and not self._distributed
        return one_device and self.gain is not None and self.gain.low > 1

    @property
    def _distributed(self) -> bool:
        return self.recommended is not None and self.recommended.distributed


def main() -> None:
    """Run the parts that are missing, while there is time, and write the page of all rows."""
    options = _options()
    os.chdir(ROOT)  # Factories are looked up relative to the project.
    page = page_of(options, HEAD.format(seconds=options.seconds, turns=options.turns))
    folder = options.results / page.commit.partition(",")[0]
    ends = time.monotonic() + 60 * options.minutes
    with LocalEngine() as engine:
        words = in_words(engine.machine())
        jobs = {name: _job(name, options.seconds, engine) for name in options.workloads}
    for seed, name in product(range(options.seeds), options.workloads):
        known = {(each.workload, each.seed) for each in read_rows(folder / ROWS, Row)}
        if (name, seed) not in known and time.monotonic() < ends:
            mine = folder / name / f"{seed}"
            job = jobs[name].model_copy(update={"seed": seed, "folder": mine})
            for each in options.contestants:
                if not (mine / each / ENDED).exists():
                    _search(each, job)
            logs = {each: read_log(mine / each) for each in options.contestants}
            add_rows(folder / ROWS, *rows(name, seed, logs, _truth(job, logs, options.turns)))
    sizes = {name: len(job.configurations) for name, job in jobs.items()}
    page.show([*figures(read_rows(folder / ROWS, Row), words, sizes)])


def _job(name: str, seconds: float, engine: Engine) -> Job:
    file, machine = WORKLOADS[name], engine.machine()
    factories = (factory_from_text(f"{file}:{each}") for each in ("model_fn", "dataset_fn"))
    model, dataset = factories
    workload = Workload(model=model, dataset=dataset)
    facts = engine.execute(InspectionRequest(workload))
    space = load_space(str(Path(__file__).with_name("space.yaml")))
    found = candidates(space, machine, facts, SearchOptions()).configurations
    return Job(
        file=file,
        workload=workload,
        facts=facts,
        machine=machine,
        space=space,
        configurations=found,
        seconds=seconds,
    )


def _search(name: str, job: Job) -> None:
    """Let one contestant search; no process of it is left when this returns."""
    # Adopts the processes that lose their parent, so that they can be ended.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    title, (module, *arguments) = CONTESTANTS[name]
    print(f"{job.file}, seed {job.seed}: {title}", flush=True)
    folder = job.folder / name
    shutil.rmtree(folder, ignore_errors=True)  # A search that was cut off starts anew.
    with tempfile.TemporaryDirectory(prefix="p-", ignore_cleanup_errors=True) as scratch:
        mine = job.model_copy(update={"folder": folder, "began": time.monotonic()})
        command = [sys.executable, "-m", f"benchmarks.peers.{module}", str(mine.save()), *arguments]
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                command,
                env={**os.environ, "TMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            with suppress(subprocess.TimeoutExpired):
                process.wait(mine.left + GRACE_SECONDS)
        while left := psutil.Process().children(recursive=True):
            for each in left:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            psutil.wait_procs(left, timeout=10)
    (folder / ENDED).touch()


def _truth(job: Job, logs: Mapping[str, Sequence[Entry]], turns: int) -> Rates:
    """Measure all recommendations and the fastest trial on one device, in turns."""
    alone = [e for log in logs.values() for e in log if not e.configuration.distributed]
    chosen = (*map(recommended, logs.values()), recommended(alone))
    arms = [*dict.fromkeys(each for each in chosen if each)]
    shuffle = random.Random(job.seed)  # noqa: S311 - an order of runs
    found: dict[Configuration, dict[int, float]] = {each: {} for each in arms}
    with on_engine(job) as meter:
        for turn in range(turns):
            for number, each in enumerate(shuffle.sample(arms, len(arms))):
                rate = meter.rate(each, job.folder / "truth" / f"{turn}-{number:02}")
                if rate:
                    found[each][turn] = rate
    return found


def rows(
    workload: str, seed: int, logs: Mapping[str, Sequence[Entry]], rates: Rates
) -> Iterator[Row]:
    """Yield a row for each contestant, by the runs that took turns."""
    turns = max((len(each) for each in rates.values()), default=0)
    # A configuration that failed in half of its runs is no recommendation to measure others by.
    kept = {each: runs for each, runs in rates.items() if 2 * len(runs) > turns}

    def best(*, distributed: bool | None = None) -> Configuration | None:
        mine = [each for each in kept if distributed in (None, each.distributed)]
        return max(mine, key=lambda c: fmean(map(math.log, kept[c].values())), default=None)

    def ratio(mine: Configuration | None, other: Configuration | None) -> Interval | None:
        if mine not in kept or other not in kept:
            return None
        return ITSELF if mine == other else ratio_in_turns(kept[mine], kept[other])

    alone = best(distributed=False)
    for name, log in logs.items():
        chosen = recommended(log)
        yield Row(
            workload=workload,
            seed=seed,
            contestant=name,
            trials=sum(each.what == "trial" for each in log),
            recommended=chosen,
            share=ratio(chosen, best()),
            over_one_device=ratio(chosen, alone),
            gain=ratio(best(distributed=True), alone),
        )


def figures(rows: Sequence[Row], machine: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a table of all workloads together, and one of each."""
    yield f"{machine}."
    for name in ("", *dict.fromkeys(each.workload for each in rows)):
        mine = [each for each in rows if name in ("", each.workload)]
        yield from ("", f"### {name or 'All workloads'}", "")
        if name:
            seeds = ", ".join(map(str, sorted({each.seed for each in mine})))
            yield from (f"{sizes.get(name, 0)} configurations, seeds {seeds}.", "")
        yield from ("| | n | trials | share | wrong | missed |", "| --- |" + " --- |" * 5)
        for contestant in dict.fromkeys(each.contestant for each in mine):
            theirs = [each for each in mine if each.contestant == contestant]
            shares = [each.share.value if each.share else 0.0 for each in theirs]
            cells = (
                CONTESTANTS[contestant][0],
                f"{len(theirs)}",
                f"{median(each.trials for each in theirs):.0f}",
                f"{median(shares):.2f}, {min(shares):.2f}",
                str(Share(count=sum(each.wrong for each in theirs), of=len(theirs))),
                str(Share(count=sum(each.missed for each in theirs), of=len(theirs))),
            )
            yield f"| {' | '.join(cells)} |"


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    names, work = list(CONTESTANTS), list(WORKLOADS)
    add = parser.add_argument
    add("--workloads", nargs="+", default=work, choices=work, help="default: all")
    add("--contestants", nargs="+", default=names, choices=names, help="default: all")
    add("--seeds", type=int, default=10, help="default: %(default)s")
    add("--seconds", type=float, default=180.0, help="of each search; default: %(default)s")
    add("--turns", type=int, default=5, help="runs behind the truth; default: %(default)s")
    add("--minutes", type=float, default=float("inf"), help="begin no part after so many")
    add("--results", type=Path, default=ROOT / "autotune-out" / "peers", help="logs and rows")
    options = parser.parse_args()
    options.results = options.results.resolve()
    options.out = options.out and options.out.resolve()
    return options


if __name__ == "__main__":
    main()
