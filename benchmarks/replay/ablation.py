"""The same searches without each part of the decision core (`make bench-ablation`).

    python -m benchmarks.replay.ablation [--searches N] [--out PAGE --since TEXT]

Only tables that the search was tuned on, because parts are chosen by it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from inspect import signature
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from autotune.result import Verdict
from autotune.search import belief, kernel, search
from autotune.search.bounds import Bounds
from autotune.search.design import groups
from autotune.search.posterior import WALKERS, Posterior
from autotune.search.sampler import sampler_named
from autotune.search.search import LEAST_IMPROVEMENT, Search
from autotune.stats.intervals import t_quantile
from benchmarks.page import page_of
from benchmarks.replay.goals import DEFAULT, EQUAL, FASTER, SOON
from benchmarks.replay.outcome import Job, Scored, scored, within
from benchmarks.replay.score import jobs_of, options_of, tables_of
from benchmarks.share import Share

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
SCENARIOS = (DEFAULT, FASTER, EQUAL, SOON)
WHOLE = "nothing"
NEVER = 1e-6


def main() -> None:
    """Make all searches once for each part, and tell what changes."""
    options = options_of(__doc__)
    options.seen = True
    page = page_of(options, HEAD)
    tables = tables_of(options)
    jobs = jobs_of(SCENARIOS, tables, options.searches)
    found = {}
    for part in PARTS:
        found[part] = made(part, jobs, options.processes)
        print(_row(part, found), flush=True)
    figures = [f"{options.searches} searches for each table and scenario, {len(tables)} tables."]
    figures += ["", *_head(), *(_row(part, found) for part in PARTS)]
    page.write(figures)


def made(part: str, jobs: Sequence[Job], processes: int) -> list[Scored]:
    """Make searches without a part, in processes that have never had it."""
    with ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_switch_off, initargs=(part,)
    ) as pool:
        return [*pool.map(scored, jobs, chunksize=4)]


def _switch_off(part: str) -> None:
    PARTS[part]()


def _everywhere(**values: object) -> None:
    """Set constants in each module of the search that has them by name."""
    modules = [m for name, m in sys.modules.items() if name.startswith("autotune.search")]
    for (name, value), module in product(values.items(), modules):
        if hasattr(module, name):
            setattr(module, name, value)


def _instead(owner: object, **members: object) -> None:
    """Give a class, one of it, or a module other members."""
    for name, value in members.items():
        setattr(owner, name, value)


def _shared(name: str) -> None:
    """Leave out one of the parameters that all axes share."""
    kept = [(each, median, sd) for each, median, sd in kernel.SHARED if each != name]
    order = [each for each, *_ in kernel.SHARED]
    every = sorted([*kept, (name, NEVER, NEVER)], key=lambda each: order.index(each[0]))
    _everywhere(SHARED=tuple(every))


def _without_sizes() -> None:
    """Leave all parameters of the posterior at the middle of their prior."""
    _instead(
        Posterior,
        _move=lambda self: _instead(self, _walkers=np.repeat(self._middle[None], WALKERS, 0)),
        _resample=lambda _: None,
    )


def _begin(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Have searches begin with something else among what they are given, by name."""
    begin = Search.__init__
    arguments = signature(begin)

    def begun(*given: Any, **named: Any) -> None:
        by_name = arguments.bind(*given, **named).arguments
        begin(**{**by_name, **change(by_name)})

    _instead(Search, __init__=begun)


def _at_random() -> None:
    _begin(lambda _: {"sampler": sampler_named("random", 0)})


def _without_matches() -> None:
    _begin(lambda its: {"candidates": its["candidates"].model_copy(update={"batch_matched": {}})})


PARTS: Mapping[str, Callable[[], None]] = {
    WHOLE: lambda: None,
    "tails: a disturbed run counts as any": lambda: _everywhere(DEGREES=1e9),
    "the machine's drift": lambda: _everywhere(DRIFT=(NEVER, NEVER)),
    "learned sizes and noise": _without_sizes,
    "noise of its own for several replicas": lambda: _everywhere(RATIO=(1.0, NEVER)),
    "the trend of batch, steps and threads": lambda: _everywhere(TREND=0.0),
    "what two axes do only together": lambda: _shared("pair"),
    "what a strategy changes about an axis": lambda: _shared("by strategy"),
    "what only one combination has": lambda: _shared("together"),
    "axes of different sizes": lambda: _everywhere(SIZES=NEVER),
    "two modes of worker groups": lambda: _everywhere(MODES=NEVER),
    "two runs behind an answer": lambda: _everywhere(FEWEST=1),
    "a stricter probability before the budget ends": lambda: _everywhere(SURE_EARLY=0.99),
    "what a run takes of the probability of an answer": lambda: _instead(
        Search, _lost=lambda *_, **__: 0.0
    ),
    "staying where it costs less than 1 %": lambda: _everywhere(SMALL_COST=0.0),
    "half a per cent once there is an answer": lambda: _everywhere(ENOUGH=LEAST_IMPROVEMENT),
    "a least improvement before": lambda: _everywhere(LEAST_IMPROVEMENT=0.0),
    "certifying before there is an answer": lambda: _everywhere(LIKELY=1.1),
    "fewer runs for many": lambda: _everywhere(MOST_RUNS=10**6),
    "one device at the batch of several replicas": _without_matches,
    "the own batch beside a better one": lambda: _instead(Search, _at_own_batch=lambda *_: None),
    "runs that tell whether a batch pays": lambda: _instead(
        Search, _batch_in_question=lambda *_, **__: None
    ),
    "what may do harm, apart from its group": lambda: _instead(
        search, groups=lambda *given: groups(*given)[:2]
    ),
    "designed first runs": lambda: _instead(Search, _first=lambda _: iter(())),
    "the chance that a run fails": lambda: _instead(
        belief, chances=lambda _, row, *__: np.ones(len(row))
    ),
    "proofs": lambda: _instead(Bounds, why_not=lambda *_: None),
    "its own proposals (random ones instead)": _at_random,
}
"""What is switched off, and how."""


def _head() -> Iterator[str]:
    yield "| without | answers | lost | 10 % found | wrong | share soon | change | lowest tenth |"
    yield "| --- | --- | ---: | --- | --- | ---: | --- | ---: |"


def _row(part: str, found: Mapping[str, Sequence[Scored]]) -> str:
    mine = found[part]
    recorded, faster, equal, soon = (within(mine, scenario) for scenario in SCENARIOS)
    cells = [
        part,
        _count(recorded, lambda each: each.verdict is not Verdict.UNDECIDED),
        f"{1 - fmean(each.share for each in recorded):.1%}",
        _count(faster, _distributes),
        _count(equal, _distributes),
        f"{fmean(each.share for each in soon):.1%}",
        "" if part == WHOLE else _change(soon, within(found[WHOLE], SOON)),
        f"{np.quantile([each.share for each in soon], 0.1):.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def _distributes(each: Scored) -> bool:
    return each.verdict is Verdict.DISTRIBUTE


def _count(results: Sequence[Scored], says: Callable[[Scored], bool]) -> str:
    return str(Share(count=sum(map(says, results)), of=len(results)))


def _change(these: Sequence[Scored], those: Sequence[Scored]) -> str:
    """Return the mean difference of shares, with its interval over tables."""
    tables = dict.fromkeys(each.job.table for each in these)
    means = [
        fmean(
            one.share - other.share
            for one, other in zip(these, those, strict=True)
            if one.job.table == table
        )
        for table in tables
    ]
    half = t_quantile(len(means) - 1, 0.975) * stdev(means) / math.sqrt(len(means))
    return f"{fmean(means):+.1%} ± {half:.1%}"


if __name__ == "__main__":
    main()
