"""Scores the search on the replay tables: every goal, and what is reached (`make bench-replay`).

    python -m benchmarks.replay.score [--searches N] [--tables a,b]

Each figure comes from many searches on replayed machines, no two with the same noise, without
TensorFlow. A search gets the share of an exhaustive pass that the goal allows as its budget; the
import of TensorFlow and the look at the factories, as they were measured, count as well.
Intervals are bootstrapped over tables and searches.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from autotune.result import Verdict
from benchmarks.replay.outcome import Job, Scenario, Scored, scored
from benchmarks.replay.table import FOLDER, read
from benchmarks.replay.world import world_of

LARGE = 200
"""Configurations from which a space counts as large."""
SHARE_LARGE, SHARE_SMALL = 0.12, 0.30
DECISION_SECONDS = 180.0
"""Budget where the question is the verdict and not the cost: the default of the program."""
BOOTSTRAPS = 1000

AS_RECORDED = Scenario(name="as recorded")
EQUAL = Scenario(name="distribution gains nothing", gain=0.0, seconds=DECISION_SECONDS)
SLOWER = Scenario(name="distribution is 5 % slower", gain=-0.05, seconds=DECISION_SECONDS)
FASTER = Scenario(
    name="distribution gains 10 %, noise 3 %", gain=0.10, noise=0.03, seconds=DECISION_SECONDS
)
SCENARIOS = (AS_RECORDED, EQUAL, SLOWER, FASTER)

Statistic = Callable[[np.ndarray], float]
ByTable = Mapping[str, Sequence[float]]
"""One figure for each search, by table."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A row of the table of goals."""

    what: str
    goal: str
    values: ByTable
    statistic: Statistic
    holds: Callable[[float], bool]
    percent: bool = True


def main() -> None:
    """Run the searches and print both tables."""
    options = _options()
    names = options.tables.split(",") if options.tables else _names()
    jobs = [
        Job(table=name, scenario=scenario, seed=seed, share=_share(name))
        for scenario in SCENARIOS
        for name in names
        for seed in range(options.searches)
    ]
    # One job is a few tenths of a second, so that chunks keep all cores busy to the end.
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(scored, jobs, chunksize=4))
    _print_tables(results, names)
    print()
    _print_goals(_goals(results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--searches", type=int, default=10, help="per table and scenario")
    parser.add_argument("--tables", help="names, separated by commas")
    return parser.parse_args()


def _names() -> list[str]:
    return [path.name.partition(".")[0] for path in sorted(FOLDER.glob("*.json.xz"))]


@cache
def _share(name: str) -> float:
    table = read(FOLDER / f"{name}.json.xz")
    return SHARE_LARGE if len(table.configurations) >= LARGE else SHARE_SMALL


def _goals(results: Sequence[Scored]) -> list[Goal]:
    plain = _of(results, AS_RECORDED)
    shares = _by_table(plain, lambda e: [e.share])
    large = [each for each in plain if each.configurations >= LARGE]
    small = [each for each in plain if each.configurations < LARGE]
    return [
        Goal(
            what="throughput of the recommended, share of the best: median",
            goal=">= 99 %",
            values=shares,
            statistic=lambda v: float(np.median(v)),
            holds=lambda x: x >= 0.99,
        ),
        Goal(
            what="the same: 10th percentile",
            goal=">= 96 %",
            values=shares,
            statistic=lambda v: float(np.quantile(v, 0.1)),
            holds=lambda x: x >= 0.96,
        ),
        Goal(
            what="the same: lowest",
            goal=">= 95 %",
            values=shares,
            statistic=lambda v: float(v.min()),
            holds=lambda x: x >= 0.95,
        ),
        _cost(f"cost, share of a pass, {LARGE} configurations and more: median", large, 0.12),
        _cost("the same, fewer configurations: median", small, 0.30),
        _rate("wrong 'distribute' when equal", "<= 1 %", _distributes(results, EQUAL), 0.01),
        _rate("the same when 5 % slower", "<= 0.1 %", _distributes(results, SLOWER), 0.001),
        Goal(
            what="a true gain of 10 % at 3 % noise is found",
            goal=">= 95 %",
            values=_distributes(results, FASTER),
            statistic=lambda v: float(v.mean()),
            holds=lambda x: x >= 0.95,
        ),
        _rate(
            "pruned although within 2 % of the best",
            "<= 1 %",
            _by_table(results, lambda e: [1.0] * e.pruned_near + [0.0] * e.kept_near),
            0.01,
        ),
        _coverage("95 % intervals of the gain cover", results, lambda e: e.gain_covered),
        _coverage("95 % intervals of the throughput cover", results, lambda e: e.rate_covered),
        Goal(
            what="skips that the bound got wrong: number",
            goal="0",
            values=_by_table(plain, lambda e: [float(e.wrong_skips)]),
            statistic=lambda v: float(v.sum()),
            holds=lambda x: x == 0,
            percent=False,
        ),
    ]


def _cost(what: str, results: Sequence[Scored], most: float) -> Goal:
    return Goal(
        what=what,
        goal=f"<= {most:.0%}",
        values=_by_table(results, lambda e: [e.cost]),
        statistic=lambda v: float(np.median(v)),
        holds=lambda x: x <= most,
    )


def _by_table(results: Sequence[Scored], figures: Callable[[Scored], Sequence[float]]) -> ByTable:
    found: dict[str, list[float]] = defaultdict(list)
    for each in results:
        found[each.job.table] += figures(each)
    return found


def _rate(what: str, goal: str, values: ByTable, most: float) -> Goal:
    return Goal(
        what=what,
        goal=goal,
        values=values,
        statistic=lambda v: float(v.mean()),
        holds=lambda x: x <= most,
    )


def _coverage(
    what: str, results: Sequence[Scored], covered: Callable[[Scored], bool | None]
) -> Goal:
    return Goal(
        what=what,
        goal="93-97 %",
        values=_by_table(results, lambda e: [float(c) for c in [covered(e)] if c is not None]),
        statistic=lambda v: float(v.mean()),
        holds=lambda x: 0.93 <= x <= 0.97,
    )


def _distributes(results: Sequence[Scored], scenario: Scenario) -> ByTable:
    return _by_table(_of(results, scenario), lambda e: [float(e.verdict is Verdict.DISTRIBUTE)])


def _of(results: Sequence[Scored], scenario: Scenario) -> list[Scored]:
    return [each for each in results if each.job.scenario == scenario]


def _print_goals(goals: Sequence[Goal]) -> None:
    print(f"{'goal':<68}{'':<10}{'reached':<28}{'n':>6}")
    for goal in goals:
        values = _all(goal.values)
        if not len(values):
            print(f"{goal.what:<68}{goal.goal:<10}not measured")
            continue
        reached = goal.statistic(values)
        mark = "" if goal.holds(reached) else "  short"
        print(f"{goal.what:<68}{goal.goal:<10}{_text(goal, reached):<28}{len(values):>6}{mark}")


def _text(goal: Goal, reached: float) -> str:
    if not goal.percent:
        return f"{reached:.0f}"
    low, high = _bootstrap(goal)
    if reached in (0.0, 1.0) and low == high:
        # All alike: a bootstrap says nothing; three in n is the usual bound.
        return f"{reached:.1%} (+-{3 / len(_all(goal.values)):.1%})"
    return f"{reached:.1%} ({low:.1%} to {high:.1%})"


def _bootstrap(goal: Goal) -> tuple[float, float]:
    """Return a 95 % interval over tables and searches: both are drawn again."""
    draw = np.random.default_rng(0)
    tables = [np.array(values) for values in goal.values.values() if len(values)]
    found = []
    for _ in range(BOOTSTRAPS):
        chosen = draw.integers(len(tables), size=len(tables))
        found.append(
            goal.statistic(np.concatenate([draw.choice(tables[i], len(tables[i])) for i in chosen]))
        )
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _all(values: ByTable) -> np.ndarray:
    return np.array([each for group in values.values() for each in group])


def _print_tables(results: Sequence[Scored], names: Sequence[str]) -> None:
    print(
        f"{'table':<14}{'configs':>8}{'noise':>7}{'true gain':>10}{'share of best':>16}"
        f"{'cost':>7}{'trials':>8}  verdicts as recorded"
    )
    for name in names:
        mine = [e for e in _of(results, AS_RECORDED) if e.job.table == name]
        world = world_of(read(FOLDER / f"{name}.json.xz"))
        gain = world.best_of(distributed=True) / world.best_of(distributed=False) - 1
        shares = np.array([e.share for e in mine])
        verdicts = ", ".join(
            f"{v!s} {sum(e.verdict is v for e in mine)}"
            for v in Verdict
            if any(e.verdict is v for e in mine)
        )
        print(
            f"{name:<14}{mine[0].configurations:>8}{world.noise:>7.1%}{gain:>10.1%}"
            f"{np.median(shares):>9.1%}/{shares.min():<6.1%}"
            f"{np.median([e.cost for e in mine]):>7.1%}{np.median([e.trials for e in mine]):>8.0f}"
            f"  {verdicts}"
        )


if __name__ == "__main__":
    main()
