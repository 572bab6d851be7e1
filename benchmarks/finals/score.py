"""Plays finals whose truth is known, and scores every promise of theirs (`make bench-finals`).

    python -m benchmarks.finals.score [--finals N] [--rare N] [--out PAGE]

The runs are drawn from worlds with drift, steps, bursts and two levels; all else is what a search
does. It fails when a goal is missed by more than chance.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from autotune.result import Verdict
from benchmarks.finals.play import Cell, Played, play
from benchmarks.finals.worlds import DISTURBED, QUIET, UNEQUAL
from benchmarks.page import add_options, page_of, this_commit
from benchmarks.share import Share

FIELDS = ((1, 1), (3, 3))
"""How many distributed configurations and single devices there are."""
HEAD = """# Finals whose truth is known

`make bench-finals` plays the finals of searches, and everything that they decide by, on runs that
are drawn instead of made: one exploring run of each configuration, then rounds until the finals
end, with time for 28 runs. *1/1* has one distributed configuration and one single device; *3/3*
has three equally fast distributed ones, of which two challenge, and three single devices, each 3 %
slower than the one before. Every certification passes. Seeds count from 0 in each row; intervals
are Wilson's, of 95 %. A row marked *short* misses its goal, and one marked *SHORT* does so by more
than chance can explain, which makes the command fail.

The truth of a gain is the ratio of mean log(rate). Under drift, the throughput is not scored: what
a machine will do later cannot be known.
"""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A share of finals, and what it should be."""

    what: str
    least: float
    most: float
    of: Callable[[Played], bool | None]
    """Whether a final counts; None leaves it out."""

    def row(self, cell: Cell, finals: Sequence[Played]) -> Row | None:
        """Return what is reached, or None where nothing says so."""
        known = [each for final in finals if (each := self.of(final)) is not None]
        return Row(goal=self, cell=cell, hits=sum(known), of=len(known)) if known else None


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was reached of a goal in a cell."""

    goal: Goal
    cell: Cell
    hits: int
    of: int

    @property
    def reached(self) -> Share:
        """The share that was reached, with its interval."""
        return Share(count=self.hits, of=self.of)

    @property
    def missed(self) -> bool:
        """Whether the goal is missed by more than chance."""
        low, high = self.reached.interval
        return high < self.goal.least or low > self.goal.most

    @property
    def mark(self) -> str:
        """Return how it stands with the goal."""
        reached = self.goal.least <= self.reached.value <= self.goal.most
        return "SHORT" if self.missed else "" if reached else "short"

    def __str__(self) -> str:
        """Return a row of a table in Markdown."""
        low, high = (f"{100 * each:.2f}" for each in self.reached.interval)
        cell, goal = self.cell, self.goal
        wanted = f"{100 * goal.least:g} to {100 * goal.most:g} %"
        return (
            f"| {goal.what} | {cell.distributed}/{cell.singles} {cell.world.name} | {wanted} "
            f"| {100 * self.reached.value:.2f} % ({low} to {high}) | {self.of} | {self.mark} |"
        )


def _distributes(final: Played) -> bool:
    return final.verdict is Verdict.DISTRIBUTE


def _gain(final: Played) -> bool | None:
    return final.gain_covered if _distributes(final) else None


def _rate(final: Played) -> bool | None:
    return final.rate_covered if _distributes(final) else None


WRONG = Goal(what="wrong *distribute*, equal", least=0, most=0.01, of=_distributes)
WORSE = Goal(what="wrong *distribute*, 5 % slower", least=0, most=0.001, of=_distributes)
FOUND = Goal(what="gain of 10 % found", least=0.95, most=1, of=_distributes)
MISSED = Goal(
    what="wrong *one device*, gain of 10 %",
    least=0,
    most=0.025,
    of=lambda final: final.verdict is Verdict.ONE_DEVICE,
)
GAIN = Goal(what="gain covered, given *distribute*", least=0.93, most=0.97, of=_gain)
RATE = Goal(what="throughput covered, given *distribute*", least=0.93, most=0.97, of=_rate)
EITHER = Goal(
    what="throughput covered, equal", least=0.93, most=0.97, of=lambda final: final.rate_covered
)


def main() -> None:
    """Play, print, and fail where a goal is missed by more than chance.

    Raises:
        SystemExit: One is.
    """
    options = _options()
    commit = this_commit()
    page = page_of(options, HEAD, commit)
    lines = [
        "| goal | finals | wanted | reached, % | n | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    print(*lines, sep="\n")
    missed = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for cell, goals, count in _plan(options.finals, options.rare):
            finals = list(pool.map(partial(play, cell), range(count), chunksize=5))
            rows = [row for goal in goals if (row := goal.row(cell, finals))]
            print(*rows, sep="\n", flush=True)
            lines += map(str, rows)
            missed += sum(row.missed for row in rows)
    if page:
        page.write(lines, commit)
    if missed:
        raise SystemExit(f"{missed} goals are missed by more than chance.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--finals", type=int, default=1000, help="for each cell")
    parser.add_argument("--rare", type=int, default=2000, help="of 5 %% slower; 4,000 show 0.1 %%")
    add_options(parser)
    return parser.parse_args()


def _plan(finals: int, rare: int) -> Iterator[tuple[Cell, tuple[Goal, ...], int]]:
    for distributed, singles in FIELDS:
        make = partial(Cell, distributed=distributed, singles=singles)
        for world in (*QUIET, *UNEQUAL, *DISTURBED):
            still = world in (*QUIET, *UNEQUAL)
            yield make(world=world, gain=0.0), (WRONG, EITHER) if still else (WRONG,), finals
            yield make(world=world, gain=-0.05), (WORSE,), rare
        for world in QUIET:
            found = (FOUND,) if world is QUIET[0] else ()
            yield make(world=world, gain=0.10), (*found, MISSED, GAIN, RATE), finals


if __name__ == "__main__":
    main()
