"""The goals of the search, each with what some replayed searches reached of it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from autotune.result import Verdict
from benchmarks.replay.outcome import Scenario, Scored, within
from benchmarks.share import Share, Statistic, bootstrap

DECISION_SECONDS = 180.0
"""Budget where the question is the verdict and not the cost: the default of the program."""
CALM = 0.04
"""By how much runs differ at most, as they were measured, where 3 % of it are drawn."""
FIFTHS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)
"""Ranges of probability; most is said with a high one."""
NOT_MEASURED = "not measured"
KNOWING = "the same, by a search that is told the best of one device and the best of several"

RECORDED = Scenario(name="as recorded, 12 % or 30 % of a pass")
RAW = Scenario(name="the same, single runs as the truth", raw=True)
DEFAULT = Scenario(name="as recorded, 180 s", seconds=DECISION_SECONDS)
SOON = Scenario(name="as recorded, 5 % or 15 % of a pass", large=0.05, small=0.15)
SOON_RAW = Scenario(
    name="the same in 5 % or 15 %, single runs as the truth", raw=True, large=0.05, small=0.15
)
EQUAL = Scenario(name="distribution gains nothing", gain=0.0, seconds=DECISION_SECONDS)
SLOWER = Scenario(name="distribution is 5 % slower", gain=-0.05, seconds=DECISION_SECONDS)
FASTER = Scenario(
    name="distribution gains 10 %, noise 3 %", gain=0.10, noise=0.03, seconds=DECISION_SECONDS
)
FASTER_AS_NOISY = Scenario(name="distribution gains 10 %", gain=0.10, seconds=DECISION_SECONDS)
KNOWN_AS_RECORDED = replace(DEFAULT, name=f"{DEFAULT.name}, the two best known", known=True)
KNOWN = replace(FASTER, name=f"{FASTER.name}, the two best known", known=True)
KNOWN_AS_NOISY = replace(
    FASTER_AS_NOISY, name=f"{FASTER_AS_NOISY.name}, the two best known", known=True
)
SCENARIOS = (
    RECORDED,
    RAW,
    DEFAULT,
    KNOWN_AS_RECORDED,
    SOON,
    SOON_RAW,
    EQUAL,
    SLOWER,
    FASTER,
    KNOWN,
    FASTER_AS_NOISY,
    KNOWN_AS_NOISY,
)

ByTable = Mapping[str, Sequence[float]]
"""One figure for each search, by table."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A row of the table of goals."""

    what: str
    least: float | None = None
    most: float | None = None
    values: ByTable
    statistic: Statistic
    counted: bool = False
    """Whether each value is a yes or a no."""

    @property
    def goal(self) -> str:
        low, high = (each and f"{each:.3g}" for each in _percent(self.least, self.most))
        if low and high:
            return f"{low} to {high} %"
        return f">= {low} %" if low else f"<= {high} %"

    @property
    def n(self) -> int:
        """How many figures it rests on."""
        return len(_all(self.values))

    @property
    def reached(self) -> str:
        """What was reached, with its interval."""
        if not self.n:
            return NOT_MEASURED
        low, high = self._interval()
        return f"{self.statistic(_all(self.values)):.1%} ({low:.1%} to {high:.1%})"

    @property
    def mark(self) -> str:
        """Whether it is reached, short, or open because the interval lies on both sides."""
        if not self.n:
            return NOT_MEASURED
        if not self._holds(self.statistic(_all(self.values))):
            return "short"
        return "reached" if all(map(self._holds, self._interval())) else "open"

    @property
    def worst(self) -> str:
        """The table that is furthest from the goal."""
        if not self.n:
            return ""
        shown = {name: fmean(each) for name, each in self.values.items() if len(each)}
        # Where little is wanted the one with most, where much is the one with least.
        worst = min(shown, key=lambda name: shown[name] * (1 if self.least else -1))
        if not self.counted:
            return f"{worst} {self.statistic(np.array(self.values[worst])):.1%}"
        return f"{worst} {sum(self.values[worst]):.0f} of {len(self.values[worst])}"

    def _holds(self, value: float) -> bool:
        return (self.least or 0.0) <= value <= (self.most or 1.0)

    def _interval(self) -> tuple[float, float]:
        values = _all(self.values)
        if self.counted and len(set(values)) == 1:
            # All alike: drawing them again says nothing.
            return Share(count=int(values.sum()), of=len(values)).interval
        return bootstrap([np.array(each) for each in self.values.values()], self.statistic)


def goals(results: Sequence[Scored]) -> Iterator[Goal]:
    """Yield every goal of the search."""
    for scenario, worst in ((SOON, 0.90), (SOON_RAW, None), (RECORDED, 0.95), (RAW, None)):
        yield from _shares(within(results, scenario), scenario, worst)
    yield from _shares(within(results, DEFAULT), DEFAULT, 0.90, median=0.995)
    yield from _answers(within(results, DEFAULT), within(results, KNOWN_AS_RECORDED))
    yield _rate("wrong 'distribute' when equal", _said(results, Verdict.DISTRIBUTE, EQUAL), 0.01)
    # One wrong verdict in a thousand is no question for so few searches, wherever it may lie.
    yield _rate("the same when 5 % slower", _said(results, Verdict.DISTRIBUTE, SLOWER), 0.01)
    one_device = _said(results, Verdict.ONE_DEVICE, FASTER, FASTER_AS_NOISY)
    yield _rate("wrong 'one device' where 10 % are to be gained", one_device, 0.01)
    found = _said(results, Verdict.DISTRIBUTE, FASTER)
    yield _rate("a true gain of 10 % is found at 3 % noise", found, least=0.95)
    calm = {name: each for name, each in found.items() if _measured_noise(results, name) <= CALM}
    what = f"the same, on tables where measured runs scatter by no more than {CALM:.0%}"
    yield _rate(what, calm, least=0.95)
    yield _rate(KNOWING, _said(results, Verdict.DISTRIBUTE, KNOWN), least=0.95)
    found = _said(results, Verdict.DISTRIBUTE, FASTER_AS_NOISY)
    yield _rate("a true gain of 10 % is found at the table's own noise", found, least=0.70)
    yield _rate(KNOWING, _said(results, Verdict.DISTRIBUTE, KNOWN_AS_NOISY), least=0.70)
    # What a search does that is told the best is not what users get.
    results = [each for each in results if not each.job.scenario.known]
    near = _by_table(results, lambda e: [1.0] * e.pruned_near + [0.0] * e.kept_near)
    yield _rate("stopped early although within 2 % of the best", near, 0.01)
    yield from _coverages(results)
    yield from _calibration(results)
    skips = _by_table(
        results, lambda e: [1.0] * e.wrong_skips + [0.0] * (e.skipped - e.wrong_skips)
    )
    yield _rate("skipped as unable to win, and would have won", skips, 0.001)


def _answers(results: Sequence[Scored], knowing: Sequence[Scored]) -> Iterator[Goal]:
    """Yield how often there is an answer, and what following it costs."""
    for what, searches in (("an answer in 180 s", results), (KNOWING, knowing)):
        values = _by_table(searches, lambda e: [float(e.verdict is not Verdict.UNDECIDED)])
        yield _rate(what, values, least=0.90)
    answered = [each for each in results if each.verdict is not Verdict.UNDECIDED]
    lost = _by_table(answered, lambda e: [1 - e.share])
    what = "lost of the best by following that answer"
    yield Goal(what=f"{what}: mean", most=0.01, values=lost, statistic=_mean)
    yield Goal(what=f"{what}: 95th percentile", most=0.05, values=lost, statistic=_quantile(0.95))


def _calibration(results: Sequence[Scored]) -> Iterator[Goal]:
    """Yield how often what is said with some probability is so."""
    for low, high in itertools.pairwise(FIFTHS):
        mine = [each for each in results if low <= each.said < high]
        if not mine:
            continue
        said = fmean(each.said for each in mine)
        right = _by_table(mine, lambda e: [float(e.right)])
        what = (
            f"right where that is said with {low:.0%} to {min(high, 1):.0%}, {said:.1%} in the mean"
        )
        yield _rate(what, right, most=min(said + 0.05, 1.0), least=said - 0.05)


def _shares(
    results: Sequence[Scored], scenario: Scenario, worst: float | None, median: float = 0.99
) -> Iterator[Goal]:
    values = _by_table(results, lambda e: [e.share])
    name = f"share of the best, {scenario.name}"
    yield Goal(what=f"{name}: median", least=median, values=values, statistic=_quantile(0.5))
    yield Goal(what=f"{name}: lowest tenth", least=0.96, values=values, statistic=_quantile(0.1))
    if worst:
        yield Goal(what=f"{name}: lowest", least=worst, values=values, statistic=_quantile(0.0))


def _coverages(results: Sequence[Scored]) -> Iterator[Goal]:
    distributed = [each for each in results if each.verdict is Verdict.DISTRIBUTE]
    yield _coverage("the gain's interval holds the truth", results, lambda e: e.gain_covered)
    yield _coverage("the same, given 'distribute'", distributed, lambda e: e.gain_covered)
    yield _coverage("the throughput's interval holds the truth", results, lambda e: e.rate_covered)


def _rate(
    what: str, values: ByTable, most: float | None = None, least: float | None = None
) -> Goal:
    return Goal(what=what, least=least, most=most, values=values, statistic=_mean, counted=True)


def _coverage(
    what: str, results: Sequence[Scored], covered: Callable[[Scored], bool | None]
) -> Goal:
    values = _by_table(results, lambda e: [float(c) for c in [covered(e)] if c is not None])
    return _rate(what, values, most=0.97, least=0.93)


def _said(results: Sequence[Scored], verdict: Verdict, *scenarios: Scenario) -> ByTable:
    mine = [each for scenario in scenarios for each in within(results, scenario)]
    return _by_table(mine, lambda e: [float(e.verdict is verdict)])


def _measured_noise(results: Sequence[Scored], table: str) -> float:
    """Return by how much repeated runs of a table differ where 3 % between runs are drawn.

    The windows of a run scatter as well, and a short run sees few of them.
    """
    mine = [each.residuals for each in within(results, FASTER) if each.job.table == table]
    squares, degrees = map(sum, zip(*mine, strict=True))
    return math.sqrt(squares / degrees) if degrees else math.inf


def _by_table(results: Sequence[Scored], figures: Callable[[Scored], Sequence[float]]) -> ByTable:
    found: dict[str, list[float]] = defaultdict(list)
    for each in results:
        found[each.job.table] += figures(each)
    return {name: values for name, values in found.items() if values}


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _quantile(share: float) -> Statistic:
    return lambda values: float(np.quantile(values, share))


def _all(values: ByTable) -> np.ndarray:
    return np.array([each for group in values.values() for each in group])


def _percent(*shares: float | None) -> Iterator[float | None]:
    for each in shares:
        yield None if each is None else 100 * each
