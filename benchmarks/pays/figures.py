"""What searches cost and save by the length of the training, and the goals of the judged one."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from autotune.answer import Verdict
from autotune.base import Value
from autotune.options import MARGIN
from benchmarks.pays.cases import Case
from benchmarks.pays.searches import Found
from benchmarks.share import Share, bootstrap

LENGTHS: Mapping[float, str] = {
    60.0: "1 min",
    300.0: "5 min",
    1200.0: "20 min",
    3600.0: "1 h",
    4 * 3600.0: "4 h",
    12 * 3600.0: "12 h",
}
"""Seconds of a training by the user's own settings."""
HOUR, LONG = 3600.0, 4 * 3600.0
"""Trainings from which a wrong answer counts, and from which a search should find the best."""
MEANS = {
    False: dict(zip(LENGTHS, (2.2, 1.38, 1.14, 1.06, 1.025, 1.01), strict=True)),
    True: dict(zip(LENGTHS, (1.30, 1.17, 1.06, 1.02, 1.01, 1.01), strict=True)),
}
"""Goals of the mean cost, with the batch free and held."""
NEVER_ABOVE = {False: 1.10, True: 1.05}
"""Goals of search and training on the worst table, over training by the own settings."""
FIFTHS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)
"""Ranges of probability; most is told with a high one."""
GOALS = "| | at most | reached | n | | furthest |\n| --- | ---: | --- | ---: | --- | --- |"
K = TypeVar("K", bound=Hashable)


class Row(Value):
    """One search, for one length of training."""

    search: str
    table: str
    unseen: bool
    fixed: bool
    scenario: str
    seed: int
    training: float
    cost: float
    """Search and training together, over training at the best settings without a search."""
    over_own: float
    """The same over training by the own settings without a search."""
    seconds: float
    trials: int
    share: float
    """Throughput of what is recommended, as a share of the best."""
    wrong: bool
    """Whether it is distributed, and truly slower than the best single device."""
    undecided: bool
    probability: float | None
    right: bool
    """Whether the verdict is, which has that probability."""
    cpu: float
    limited: bool


Figure = Callable[[Row], float]


def row_of(search: str, case: Case, seed: int, training: float, found: Found) -> Row:
    """Return what a search was worth."""
    world = case.world
    rate, own = world.rates[found.recommended], world.rates[case.own]
    one, several = (world.best_of(distributed=each) for each in (False, True))
    distributes = found.verdict is Verdict.DISTRIBUTE
    over_own = found.seconds / training + own / rate
    return Row(
        search=search,
        table=case.table,
        unseen=case.unseen,
        fixed=case.fixed,
        scenario=case.scenario.name,
        seed=seed,
        training=training,
        cost=over_own * world.best / own,
        over_own=over_own,
        seconds=found.seconds,
        trials=found.trials,
        share=rate / world.best,
        wrong=found.recommended.distributed and rate < one,
        undecided=found.verdict is Verdict.UNDECIDED,
        probability=found.probability,
        right=((rate if distributes else several) > one * (1 + MARGIN)) is distributes,
        cpu=found.cpu,
        limited=found.limited,
    )


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A figure that should be at most so large."""

    what: str
    most: float
    value: float
    interval: tuple[float, float]
    n: int
    furthest: str = ""

    @property
    def mark(self) -> str:
        """Whether it is reached; `MISSED` is by more than its interval."""
        if self.value <= self.most:
            return "reached"
        return "short" if self.interval[0] <= self.most else "MISSED"

    def __str__(self) -> str:
        reached = "{:.3f} ({:.3f} to {:.3f})".format(self.value, *self.interval)
        cells = (self.what, f"{self.most:g}", reached, f"{self.n}", self.mark, self.furthest)
        return f"| {' | '.join(cells)} |"


def goals(judged: Sequence[Row]) -> Iterator[Goal]:
    """Yield every goal, from the searches of one setting."""
    fixed = judged[0].fixed
    for training, rows in grouped(judged, lambda e: e.training).items():
        what = f"cost at {LENGTHS[training]}, mean"
        yield _mean(what, MEANS[fixed][training], rows, lambda e: e.cost)
    long = [each for each in judged if each.training >= LONG]
    yield _worst("cost on the worst table, from 4 h on", 1.06, long, lambda e: e.cost)
    what = "over training by the own settings, worst table"
    yield _worst(what, NEVER_ABOVE[fixed], judged, lambda e: e.over_own)
    yield from rates([each for each in judged if each.training >= HOUR])
    yield from calibration(judged)
    cpu, trials = (sum(getattr(each, key) for each in judged) for key in ("cpu", "trials"))
    each = cpu / max(trials, 1)
    yield Goal(
        what="processor seconds a trial", most=0.1, value=each, interval=(each, each), n=trials
    )


def rates(rows: Sequence[Row]) -> Iterator[Goal]:
    """Yield how often answers are wrong, what they lose, and how often there is none."""
    yield _mean("wrong *distribute*, from 1 h on", 0.01, rows, lambda e: e.wrong)
    yield _mean("loss of the answers, from 1 h on, mean", 0.005, rows, lambda e: 1 - e.share)
    yield _mean("*not sure yet*, from 1 h on", 0.0, rows, lambda e: e.undecided)


def calibration(rows: Sequence[Row]) -> Iterator[Goal]:
    """Yield by how much verdicts are right more or less often than is told."""
    told = [(each.probability, each) for each in rows if each.probability is not None]
    for low, high in pairwise(FIFTHS):
        mine = [each for probability, each in told if low <= probability < high]
        if not mine:
            continue
        said = fmean(probability for probability, _ in told if low <= probability < high)
        right = _mean("", 0.0, mine, lambda e: e.right)
        nearest = min(max(said, right.interval[0]), right.interval[1])
        ends = sorted(abs(said - each) for each in (nearest, *right.interval))
        yield Goal(
            what=f"told with {said:.1%} ({low:.0%} to {min(high, 1):.0%}), right {right.value:.1%}",
            most=0.05,
            value=abs(said - right.value),
            interval=(ends[0], ends[-1]),
            n=len(mine),
        )


def figures(rows: Sequence[Row], judged: str) -> Iterator[str]:
    """Yield the figures of all searches in one setting."""
    searches = grouped(rows, lambda e: e.search)
    mine = searches[judged]
    yield from (GOALS, *map(str, goals(mine)), "", *_by_length(mine), "")
    yield _head("cost, mean")
    for name, each in (searches | dict(hindsight(searches))).items():
        by_length = grouped(each, lambda e: e.training).values()
        shown = (_mean("", 0.0, rows, lambda e: e.cost) for rows in by_length)
        cells = ("{:.2f} ({:.2f} to {:.2f})".format(each.value, *each.interval) for each in shown)
        yield f"| {name} | {' | '.join(cells)} |"
    yield from ("", _head("cost by table"))
    for table, each in sorted(grouped(mine, lambda e: e.table).items()):
        costs = (
            fmean(e.cost for e in rows) for rows in grouped(each, lambda e: e.training).values()
        )
        without = each[0].cost / each[0].over_own
        yield f"| {table}, {without:.2f} without | {' | '.join(f'{c:.2f}' for c in costs)} |"


def hindsight(searches: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, list[Row]]]:
    """Yield what the best fixed budget of each table costs, or none, where there are several."""
    budgets = [each for name, rows in searches.items() if name.endswith(" s") for each in rows]
    for family, rows in grouped(budgets, lambda e: e.search.rpartition(",")[0]).items():
        known = [*searches["no search"], *rows]
        best: list[Row] = []
        for each in grouped(known, lambda e: (e.training, e.table)).values():
            best += min(grouped(each, lambda e: e.search).values(), key=_cost)
        yield f"{family}, the best of each table in hindsight", best


def grouped(rows: Sequence[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Return rows by what they have in common, in their order."""
    found: dict[K, list[Row]] = defaultdict(list)
    for each in rows:
        found[key(each)].append(each)
    return dict(found)


def _by_length(judged: Sequence[Row]) -> Iterator[str]:
    yield _head("judged")
    by_length = grouped(judged, lambda e: e.training).values()
    for what, form, figure in (
        ("cost, median", "{:.2f}", lambda rows: median(e.cost for e in rows)),
        ("over the own settings, mean", "{:.2f}", lambda rows: fmean(e.over_own for e in rows)),
        ("seconds of the search", "{:.0f}", lambda rows: fmean(e.seconds for e in rows)),
        ("trials", "{:.1f}", lambda rows: fmean(e.trials for e in rows)),
        ("share of the best", "{:.3f}", lambda rows: fmean(e.share for e in rows)),
        ("*not sure yet*", "{:.1%}", lambda rows: fmean(e.undecided for e in rows)),
        ("ended by a limit", "{:.1%}", lambda rows: fmean(e.limited for e in rows)),
    ):
        yield f"| {what} | {' | '.join(form.format(figure(rows)) for rows in by_length)} |"


def _head(what: str) -> str:
    return f"| {what} | {' | '.join(LENGTHS.values())} |\n| --- |{' ---: |' * len(LENGTHS)}"


def _cost(rows: Iterable[Row]) -> float:
    return fmean(each.cost for each in rows)


def _mean(what: str, most: float, rows: Sequence[Row], figure: Figure) -> Goal:
    """Return a mean with its interval over tables and searches; Wilson's where all count alike."""
    by_table = grouped(rows, lambda e: e.table)
    values = {name: np.array([float(figure(e)) for e in mine]) for name, mine in by_table.items()}
    every = np.concatenate([*values.values()])
    worst = max(values, key=lambda name: values[name].mean())
    alike = isinstance(figure(rows[0]), bool) and np.ptp(every) == 0
    interval = (
        Share(count=int(every.sum()), of=len(every)).interval
        if alike
        else bootstrap([*values.values()], lambda drawn: float(drawn.mean()))
    )
    return Goal(
        what=what,
        most=most,
        value=float(every.mean()),
        interval=interval,
        n=len(every),
        furthest=f"{worst} {values[worst].mean():.3f}",
    )


def _worst(what: str, most: float, rows: Sequence[Row], figure: Figure) -> Goal:
    """Return the mean of the worst table at its worst length, beside the worst search of all."""
    groups = grouped(rows, lambda e: (LENGTHS[e.training], e.table))
    length, table = max(groups, key=lambda key: fmean(map(figure, groups[key])))
    one = max(map(figure, rows))
    found = _mean(what, most, groups[length, table], figure)
    return replace(found, furthest=f"{table} at {length}; of single searches {one:.3f}")
