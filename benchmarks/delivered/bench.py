"""Throughput that autotune promises, against what its program delivers in a longer run.

    python -m benchmarks.delivered.bench [WORKLOAD ...] [--budget 60] [--seconds 60] [--repeats 1]
        [--minutes M] [--out PAGE --since TEXT]

Each workload is searched, then its program runs in fresh processes without autotune, with some more
of the search's trials of it before and behind each run; a row is kept when it is done. What has its
row at this commit is not run again, so that it can be done in parts.
Run it where nothing else runs: some three minutes for each of the ten.
"""

from __future__ import annotations

import os
import tempfile
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from statistics import fmean

from autotune import Result, SearchOptions, autotune
from autotune.errors import NothingMeasured
from autotune.events import nobody
from autotune.objective import MAX_THROUGHPUT
from autotune.run.local import LocalEngine
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.strategies import in_short
from autotune.trial import Stage
from benchmarks.delivered.program import LongRun
from benchmarks.delivered.rows import Row, add_row, figures, read_rows
from benchmarks.delivered.workloads import WORKLOADS
from benchmarks.page import add_options, in_words, page_of, this_commit

ROWS = Path("autotune-out/delivered/rows.jsonl")
BESIDE = 3
"""Trials before each run, and as many behind it."""
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


def main() -> None:
    """Run what has no row yet, while there is time, and write the page that was asked for."""
    asked = _asked()
    # What an earlier search remembers is no part of this promise.
    os.environ["AUTOTUNE_CACHE"] = "off"
    commit = this_commit()
    page = page_of(asked, HEAD, commit)
    with LocalEngine() as engine:
        machine = in_words(engine.machine())
    ends = time.monotonic() + 60 * asked.minutes
    known = {row.workload for row in read_rows(ROWS, commit)}
    for name in asked.workloads or WORKLOADS:
        if name not in known and time.monotonic() < ends:
            row = _row(name, asked, commit)
            add_row(ROWS, row)
            print(row, flush=True)
    found = [*figures(read_rows(ROWS, commit), machine)]
    print("\n".join(found))
    if page:
        page.write(found, commit)


def _row(name: str, asked: Namespace, commit: str) -> Row:
    row = Row(
        commit=commit, workload=name, seed=asked.seed, budget=asked.budget, seconds=asked.seconds
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = _search(name, asked, folder)
        except NothingMeasured:
            return row
        promised = result.examples_per_second
        run, repeats = LongRun(seconds=asked.seconds), asked.repeats if promised else 0
        delivered, beside = [], []
        for _ in range(repeats):
            before = _trials(result)
            delivered.append(run.rate(result, Path(folder)))
            beside.append(fmean([*before, *_trials(result)]))
        found = {
            "promised": promised,
            "delivered": tuple(delivered),
            "beside": tuple(beside),
            "said": f"{result.verdict}: {in_short(result.config)}",
        }
        return row.model_copy(update=found)


def _trials(result: Result) -> list[float]:
    """Return the examples per second of some trials of what is recommended, as in the finals."""
    subject = Subject(workload=result.workload, facts=result.facts, machine=result.machine)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        runner = Runner(
            engine, subject, TrialList(), folder=Path(folder), budget=budget, observer=nobody
        )
        trials = [runner.run(result.config, Stage.FINAL) for _ in range(BESIDE)]
    return [rate for trial in trials if (rate := trial.examples_per_second)]


def _search(name: str, asked: Namespace, folder: str) -> Result:
    workload = WORKLOADS[name]
    return autotune(
        *workload.factories,
        space=workload.space(name),
        options=SearchOptions(objective=MAX_THROUGHPUT.name, budget=asked.budget, seed=asked.seed),
        out=folder,
    )


def _asked() -> Namespace:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="default: all ten")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after")
    add_options(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
