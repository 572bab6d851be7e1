"""Judges a search by the time that it takes and saves (`make bench-pays`).

    python -m benchmarks.pays.score [--searches N] [--tables a,b] [--judge MODULE:FUNCTION]
                                    [--rows FILE] [--out PAGE --since TEXT]

A function of another module can be judged in place of the program's search; it is called as
`benchmarks.pays.searches.judged` is. A goal that is missed by more than its interval makes the
command fail.
"""

import argparse
import os
import pkgutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.page import page_of, parser_of
from benchmarks.parts import add_rows
from benchmarks.pays.cases import RECORDED, SCENARIOS, Case, fixed, free
from benchmarks.pays.figures import (
    GOALS,
    HOUR,
    LENGTHS,
    Row,
    calibration,
    figures,
    goals,
    grouped,
    rates,
    row_of,
)
from benchmarks.pays.searches import PEERS, Judged
from benchmarks.replay.table import FOLDER

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""What stands before the figures."""
JUDGED = "autotune"
Work = Callable[[], list[Row]]


def main() -> None:
    """Search, print, and fail where a goal is missed by more than its interval.

    Raises:
        SystemExit: One is.
    """
    options = _options()
    page = page_of(options, HEAD)
    work = [*_work(options)]
    with ProcessPoolExecutor(options.processes) as pool:
        rows = [each for made in pool.map(_done, work) for each in made]
    if options.rows:
        add_rows(options.rows, *rows)
    lines, missed = [f"{options.searches} searches of each kind, seeds from 0."], []
    recorded = [each for each in rows if each.scenario == RECORDED.name]
    for (held, seen), mine in sorted(grouped(recorded, lambda e: (e.fixed, not e.unseen)).items()):
        kind, batch = "Seen" if seen else "Held-out", "as the user has it" if held else "free"
        title = f"{kind} tables, the batch {batch}"
        lines += ["", f"### {title}", "", *figures(mine, JUDGED)]
        scored = goals([each for each in mine if each.search == JUDGED])
        missed += [f"{title}: {each.what}" for each in scored if each.mark == "MISSED"]
    lines += ["", "### Other machines, trainings of 1 h and 12 h", "", GOALS]
    for scenario in SCENARIOS:
        mine = [each for each in rows if each.scenario == scenario.name]
        for each in (*rates(mine), *calibration(mine)):
            lines.append(str(replace(each, what=f"{scenario.name}: {each.what}")))
            missed += [f"{scenario.name}: {each.what}"] if each.mark == "MISSED" else []
    page.show(lines)
    if missed:
        raise SystemExit(f"Missed by more than the interval: {'; '.join(missed)}.")


def _work(options: argparse.Namespace) -> Iterator[Work]:
    every = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.json.xz"))
    tables = options.tables.split(",") if options.tables else every
    judge, seeds = pkgutil.resolve_name(options.judge), range(options.searches)
    cases = free(tables)
    for case, seed in product((*cases, *fixed(tables)), seeds):
        yield partial(_with_peers, judge, case, seed)
    for case, scenario, seed in product(cases, SCENARIOS, seeds):
        there = replace(case, scenario=scenario)
        for training in (HOUR, max(LENGTHS)):
            yield partial(_judged, judge, there, seed, training)


def _judged(judge: Judged, case: Case, seed: int, training: float) -> list[Row]:
    return [row_of(JUDGED, case, seed, training, judge(case, training, seed))]


def _with_peers(judge: Judged, case: Case, seed: int) -> list[Row]:
    """Return a row of each length and search; peers are told how long the judged one has taken."""
    mine = {training: judge(case, training, seed) for training in LENGTHS}
    rows = [row_of(JUDGED, case, seed, training, found) for training, found in mine.items()]
    times = {training: found.seconds for training, found in mine.items()}
    for peer in PEERS:
        for name, lengths, found in peer(case, seed, times):
            rows += [row_of(name, case, seed, training, found) for training in lengths]
    return rows


def _done(work: Work) -> list[Row]:
    return work()


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--searches", type=int, default=4, help="of each kind")
    parser.add_argument("--tables", help="names, separated by commas; default: all")
    parser.add_argument("--judge", default="benchmarks.pays.searches:judged", help="what is judged")
    parser.add_argument("--rows", type=Path, help="a file to which a row for each search is added")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores")
    return parser.parse_args()


if __name__ == "__main__":
    main()
