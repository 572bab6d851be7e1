"""autotune against the alternatives, live, on the same space, machine and clock, in parts.

    python -m benchmarks.peers.compare [--seeds 10] [--minutes 60] [--out PAGE --since TEXT]

A part is one workload with one seed: everybody searches, then what anybody held for the best is
measured again in turns, and a row for each contestant is appended to `rows.jsonl`. Parts that have
their rows are not run again, nor are searches that ended; the page is made from the rows that there
are. A row holds for the commit that made it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from autotune.engine.base import Engine
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.options import SearchOptions
from autotune.space import candidates, load_space
from autotune.workload import Workload, factory_from_text
from benchmarks.page import in_words, page_of, parser_of
from benchmarks.parts import add_rows, read_rows
from benchmarks.peers import truth
from benchmarks.peers.contestants import CONTESTANTS, run
from benchmarks.peers.findings import Row, best_of, rows
from benchmarks.peers.job import ROOT, Job
from benchmarks.peers.table import figures, head

WORKLOADS = {
    "digits": "examples/digits.py",
    "lstm": "examples/lstm.py",
    "python_input": "examples/python_input.py",
    "forecast": "benchmarks/replay/workloads/forecast.py",
    "pictures": "benchmarks/replay/workloads/pictures.py",
}
SPACE = Path(__file__).with_name("space.yaml")
ROWS = "rows.jsonl"
ENDED = "ended"
"""A file in the folder of a contestant whose search is over."""


def main() -> None:
    """Run the parts that are missing, while there is time, and write the page of all rows."""
    options = _options()
    # Factories are looked up relative to the project.
    os.chdir(ROOT)
    page = page_of(options, head(options.seconds, options.turns, options.contestants))
    folder = options.results / page.commit.partition(",")[0]
    ends = time.monotonic() + 60 * options.minutes
    with LocalEngine() as engine:
        words = in_words(engine.machine())
        jobs = {name: _job(name, options, engine) for name in options.workloads}
    for seed, name in product(range(options.seeds), options.workloads):
        if time.monotonic() >= ends:
            break
        if not done(read_rows(folder / ROWS, Row), name, seed):
            job = jobs[name].model_copy(update={"seed": seed, "folder": folder / name / f"{seed}"})
            _part(job, folder, options, page.commit)
    sizes = {name: len(job.configurations) for name, job in jobs.items()}
    found = [*figures(read_rows(folder / ROWS, Row), words, sizes)]
    page.show(found)


def done(known: Sequence[Row], workload: str, seed: int) -> bool:
    """Return whether a part has its rows."""
    return any((each.workload, each.seed) == (workload, seed) for each in known)


def _part(job: Job, folder: Path, options: argparse.Namespace, commit: str) -> None:
    for name in options.contestants:
        _let_search(name, job)
    earlier = [p for p in job.folder.parent.iterdir() if p != job.folder]
    known = [configuration for each in earlier for configuration in best_of(each)]
    arms = truth.arms(job.folder, known)
    _say(f"{job.name}, seed {job.seed}: {len(arms)} configurations, {options.turns} times")
    truth.measure(job, arms, options.turns)
    found = rows(job.folder, options.contestants, (commit, job.name, job.seed))
    add_rows(folder / ROWS, *found)


def _let_search(name: str, job: Job) -> None:
    ended = job.folder / name / ENDED
    if ended.exists():
        return
    # A search that was cut off starts anew.
    shutil.rmtree(ended.parent, ignore_errors=True)
    _say(f"{job.name}, seed {job.seed}: {CONTESTANTS[name].title}")
    run(name, job)
    ended.touch()


def _job(name: str, options: argparse.Namespace, engine: Engine) -> Job:
    file, machine = WORKLOADS[name], engine.machine()
    workload = Workload(
        model=factory_from_text(f"{file}:model_fn"),
        dataset=factory_from_text(f"{file}:dataset_fn"),
    )
    facts = engine.execute(InspectionRequest(workload))
    space = load_space(str(SPACE))
    return Job(
        name=name,
        file=file,
        workload=workload,
        facts=facts,
        machine=machine,
        space=space,
        configurations=candidates(space, machine, facts, SearchOptions()).configurations,
        seconds=options.seconds,
    )


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


def _say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)


if __name__ == "__main__":
    main()
