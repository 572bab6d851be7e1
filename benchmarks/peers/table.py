"""The page of a comparison, from the rows that there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.findings import Row
from benchmarks.peers.progress import CLOSE
from benchmarks.share import Share

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""What stands before the figures."""


def head(seconds: float, turns: int, names: Sequence[str]) -> str:
    """Return title and explanations, of those contestants that take part."""
    asked = [CONTESTANTS[name] for name in names]
    lines = [f"- **{each.title}**: {each.how}" for each in asked]
    return HEAD.format(seconds=seconds, turns=turns, close=CLOSE, contestants="\n".join(lines))


def figures(rows: Sequence[Row], machine: str, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a table of all workloads together, and one of each."""
    yield f"{machine}."
    yield ""
    if not rows:
        yield "No part was run yet."
        return
    yield from ("### All workloads", "", *_table(rows))
    for name in dict.fromkeys(each.workload for each in rows):
        mine = [each for each in rows if each.workload == name]
        seeds = sorted({each.seed for each in mine})
        yield from ("", f"### {name}", "")
        yield f"{sizes.get(name, 0)} configurations, seeds {', '.join(map(str, seeds))}."
        yield from ("", *_table(mine))


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"| | n | trials | share | time to {CLOSE:.0%} | wrong | missed |"
    yield "| --- | ---: | ---: | --- | --- | --- | --- |"
    for name in dict.fromkeys(each.contestant for each in rows):
        mine = [each for each in rows if each.contestant == name]
        yield f"| {' | '.join(_cells(name, mine))} |"


def _cells(name: str, rows: Sequence[Row]) -> Iterator[str]:
    yield CONTESTANTS[name].title
    yield f"{len(rows)}"
    yield f"{median(each.trials for each in rows):.0f}"
    shares = [each.share.value if each.share else 0.0 for each in rows]
    yield f"{median(shares):.2f}, {min(shares):.2f}"
    times = [math.inf if t is None else t for t in (each.seconds_to_close for each in rows)]
    never = sum(map(math.isinf, times))
    middle = median(times)
    yield f"{'never' if math.isinf(middle) else f'{middle:.0f} s'}, never in {never} of {len(rows)}"
    yield str(Share(count=sum(each.wrong for each in rows), of=len(rows)))
    yield str(Share(count=sum(each.missed for each in rows), of=len(rows)))
