"""Plays searches whose truth is known, and scores every promise of theirs (`make bench-finals`).

    python -m benchmarks.finals.score [--searches N] [--out PAGE --since TEXT]

The runs are drawn from worlds with drift, steps, bursts and two levels; all else is what a search
does. It fails when a goal is missed by more than chance.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autotune.result import Verdict
from benchmarks.finals.play import Cell, Played, play
from benchmarks.finals.worlds import DISTURBED, QUIET, UNEQUAL, World
from benchmarks.page import page_of, parser_of
from benchmarks.share import Share

HEAD = Path(__file__).with_name("score.md").read_text(encoding="utf-8")
FIELDS = ((1, 1), (3, 3))
"""How many distributed configurations and single devices there are."""
STILL = (*QUIET, *UNEQUAL)
"""Machines whose future is like their past, so that a throughput can be true."""
EQUAL, SLOWER, FASTER = 0.0, -0.05, 0.10
"""True gains."""
FIRST_SEED = 2000
"""Those below were looked at while the search was developed."""
Results = Mapping[Cell, Sequence[Played]]


def counted(
    results: Results, worlds: Sequence[World], gain: float, of: Callable[[Played], bool | None]
) -> Share | None:
    """Return how many searches count, of those with a true gain in some worlds; None: none can."""
    found = [
        counts
        for cell, played in results.items()
        if cell.gain == gain and cell.world in worlds
        for each in played
        if (counts := of(each)) is not None
    ]
    return Share(count=sum(found), of=len(found)) if found else None


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A share of searches, and what it should be."""

    what: str
    least: float
    most: float
    gain: float
    """The true gain of the searches that it is about."""
    worlds: Sequence[World]
    of: Callable[[Played], bool | None]
    """Whether a search counts; None leaves it out."""

    def reached(self, results: Results) -> Share | None:
        """Return what was reached in all worlds of the goal; None: nothing says so."""
        return counted(results, self.worlds, self.gain, self.of)

    def mark(self, share: Share) -> str:
        """Return how a share stands with the goal: `SHORT` is missed by more than chance."""
        low, high = share.interval
        if high < self.least or low > self.most:
            return "SHORT"
        return "" if self.least <= share.value <= self.most else "short"

    @property
    def wanted(self) -> str:
        return f"{100 * self.least:g} to {100 * self.most:g} %"


def _distributes(played: Played) -> bool:
    return played.verdict is Verdict.DISTRIBUTE


def _stays(played: Played) -> bool:
    return played.verdict is Verdict.ONE_DEVICE


EVERY = (*STILL, *DISTURBED)
WRONG = Goal(
    what="wrong *distribute*, equal", least=0, most=0.01, gain=EQUAL, worlds=EVERY, of=_distributes
)
FOUND = Goal(
    what="a gain of 10 % is found at 3 % noise",
    least=0.95,
    most=1,
    gain=FASTER,
    worlds=QUIET[:1],
    of=_distributes,
)
GOALS = (
    WRONG,
    Goal(
        what="wrong *distribute*, 5 % slower",
        least=0,
        most=0.001,
        gain=SLOWER,
        worlds=EVERY,
        of=_distributes,
    ),
    FOUND,
    Goal(
        what="wrong *one device*, gain of 10 %",
        least=0,
        most=0.025,
        gain=FASTER,
        worlds=QUIET,
        of=_stays,
    ),
    Goal(
        what="the gain's interval holds, gain of 10 %",
        least=0.93,
        most=0.97,
        gain=FASTER,
        worlds=QUIET,
        of=lambda played: played.gain_covered,
    ),
    Goal(
        what="the throughput's interval holds, equal",
        least=0.93,
        most=0.97,
        gain=EQUAL,
        worlds=STILL,
        of=lambda played: played.rate_covered,
    ),
)
COLUMNS = (
    ("wrong *distribute*, equal", EQUAL, _distributes),
    ("5 % slower", SLOWER, _distributes),
    ("*one device*, equal", EQUAL, _stays),
    ("5 % slower, stays", SLOWER, _stays),
    ("10 % found", FASTER, _distributes),
)
"""What is told of each machine: heading, true gain, and what counts."""


def main() -> None:
    """Play, print, and fail where a goal is missed by more than chance.

    Raises:
        SystemExit: One is.
    """
    options = _options()
    page = page_of(options, HEAD)
    results: dict[Cell, Sequence[Played]] = {}
    seeds = range(FIRST_SEED, FIRST_SEED + options.searches)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for cell in _cells():
            results[cell] = list(pool.map(partial(play, cell), seeds, chunksize=5))
            what = f"{cell.distributed}/{cell.singles} {cell.world.name}, {cell.gain:+.0%}"
            print(what, flush=True)
    lines = [
        f"{options.searches} searches of each kind.",
        "",
        *table(results),
        "",
        *worlds(results),
    ]
    page.show(lines)
    shares = ((goal, goal.reached(results)) for goal in GOALS)
    missed = [goal.what for goal, share in shares if share and goal.mark(share) == "SHORT"]
    if missed:
        raise SystemExit(f"Missed by more than chance: {'; '.join(missed)}.")


def table(results: Results) -> Iterator[str]:
    """Yield what was reached of each goal."""
    yield "| goal | wanted | reached | |"
    yield "| --- | --- | --- | --- |"
    for goal in GOALS:
        if share := goal.reached(results):
            yield f"| {goal.what} | {goal.wanted} | {share} | {goal.mark(share)} |"


def worlds(results: Results) -> Iterator[str]:
    """Yield how often each machine misled, and how often it was answered on."""
    yield f"| machine | {' | '.join(head for head, *_ in COLUMNS)} |"
    yield f"| --- |{' --- |' * len(COLUMNS)}"
    for world in EVERY:
        shares = (counted(results, [world], gain, of) for _, gain, of in COLUMNS)
        cells = (f"{each.count} of {each.of}" if each else "-" for each in shares)
        yield f"| {world.name} | {' | '.join(cells)} |"


def _cells() -> Iterator[Cell]:
    for distributed, singles in FIELDS:
        make = partial(Cell, distributed=distributed, singles=singles)
        for world in EVERY:
            for gain in (EQUAL, SLOWER, *([FASTER] if world in QUIET else [])):
                yield make(world=world, gain=gain)


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--searches", type=int, default=160, help="of each kind; 160 make 4,160 of a gain"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
