"""Scores the search on the replay tables: every goal, and what is reached (`make bench-replay`).

    python -m benchmarks.replay.score [--searches N] [--tables a,b | --seen]
                                      [--out PAGE --since TEXT]

Each figure comes from many searches on replayed machines, no two with the same noise, without
TensorFlow. The import of TensorFlow and the look at the factories, as they were measured, count as
a part of a search's budget, and so does what the program reserves for its profile.

Where two searches are compared to choose one of them, `--seen` leaves out the tables that nothing
was chosen by, so that they stay that.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np

from autotune.result import Verdict
from benchmarks.page import page_of, parser_of
from benchmarks.replay.characters import character
from benchmarks.replay.goals import DEFAULT, NOT_MEASURED, RECORDED, SCENARIOS, SOON, goals
from benchmarks.replay.outcome import Job, Scenario, Scored, scored, within, world_in
from benchmarks.replay.table import FOLDER
from benchmarks.replay.world import World

SEEN = "Tables that the search was tuned on"
UNSEEN = "Held-out tables"
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""What stands before the figures."""


def main() -> None:
    options = options_of(__doc__)
    page = page_of(options, HEAD)
    names = tables_of(options)
    jobs = jobs_of(SCENARIOS, names, options.searches)
    # One job is a few tenths of a second, so that chunks keep all cores busy to the end.
    with ProcessPoolExecutor(options.processes) as pool:
        results = list(pool.map(scored, jobs, chunksize=4))
    figures = [*_figures(results, options.searches)]
    page.show(figures)


def options_of(benchmark: str) -> argparse.Namespace:
    """Return the options of a benchmark of the tables, whose docstring is its help."""
    parser = parser_of(benchmark)
    parser.add_argument("--searches", type=int, default=10, help="per table and scenario")
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument("--tables", help="names, separated by commas")
    tables.add_argument("--seen", action="store_true", help="those that may be used to choose")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores")
    return parser.parse_args()


def tables_of(options: argparse.Namespace) -> list[str]:
    """Return the names of the tables that options of a benchmark ask for."""
    if options.tables:
        return str(options.tables).split(",")
    every = [path.name.partition(".")[0] for path in sorted(FOLDER.glob("*.json.xz"))]
    return [name for name in every if not (options.seen and character(name).unseen)]


def jobs_of(scenarios: Sequence[Scenario], tables: Sequence[str], searches: int) -> list[Job]:
    """Return so many searches of each table in each scenario."""
    return [
        Job(table=table, scenario=scenario, seed=seed)
        for scenario, table, seed in product(scenarios, tables, range(searches))
    ]


def _figures(results: Sequence[Scored], searches: int) -> Iterator[str]:
    yield f"{searches} searches for each table and scenario, seeds 0 to {searches - 1}."
    for title, unseen in ((UNSEEN, True), (SEEN, False)):
        mine = [each for each in results if character(each.job.table).unseen is unseen]
        yield from ("", f"### {title}", "")
        yield from [*_tables(mine), "", *_goals(mine)] if mine else ["None were recorded yet."]


def _goals(results: Sequence[Scored]) -> Iterator[str]:
    yield "| | goal | reached | n | | furthest |"
    yield "| --- | --- | --- | ---: | --- | --- |"
    for each in goals(results):
        reached = "nothing of the kind happened, not tested" if not each.n else each.reached
        mark = "" if each.mark == NOT_MEASURED else each.mark
        yield f"| {each.what} | {each.goal} | {reached} | {each.n} | {mark} | {each.worst} |"


def _tables(results: Sequence[Scored]) -> Iterator[str]:
    yield (
        "| table | configurations | runs of the best | noise | true gain | share of the best, "
        "median and lowest | in 5 or 15 % of a pass | trials in 180 s | verdicts |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | --- | --- | ---: | --- |"
    for name in dict.fromkeys(each.job.table for each in results):
        yield f"| {' | '.join(_cells(name, [e for e in results if e.job.table == name]))} |"


def _cells(name: str, results: Sequence[Scored]) -> Iterator[str]:
    recorded, soon, whole = (within(results, scenario) for scenario in (RECORDED, SOON, DEFAULT))
    world = world_in(name, RECORDED)
    gain = world.best_of(distributed=True) / world.best_of(distributed=False) - 1
    yield from (name, f"{len(world.table.configurations)}", f"{_runs_of_the_best(world)}")
    yield from (f"{world.noise:.1%}", f"{gain:.1%}", _shares(recorded), _shares(soon))
    yield f"{np.median([each.trials for each in whole]):.0f}"
    said = {v: sum(each.verdict is v for each in whole) for v in Verdict}
    yield ", ".join(f"{v!s} {count}" for v, count in said.items() if count)


def _shares(results: Sequence[Scored]) -> str:
    shares = [each.share for each in results]
    return f"{np.median(shares):.1%}, {min(shares):.1%}"


def _runs_of_the_best(world: World) -> int:
    best = max(world.rates, key=lambda c: world.rates[c])
    measured = filter(world.table.measured, world.table.trainings)
    return sum(run.configuration == best for run in measured)


if __name__ == "__main__":
    main()
