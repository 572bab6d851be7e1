"""What is expected of configurations that were not run: Gaussian processes on log(score).

Effects on throughput multiply nearly, so log(score) is modelled as a sum: the level of a strategy,
a term for each axis, one for each axis that depends on the strategy, one for each pair of axes, and
one for all axes together. What was learned on one device about feeding and stepping thereby carries
over to distributed configurations, and what does not carry over can be learned too. Values of
ordered axes are the more alike the closer they are.

How large such effects are differs from workload to workload, so several models stand side by side,
and each counts as much as it has explained so far: a mixture weighted by marginal likelihood. The
method is that of Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
algorithm 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

from autotune.config import Configuration
from autotune.objective import throughput_of
from autotune.search.history import History, Observed
from autotune.search.screening import Screened, Screening
from autotune.value import Scalar

LEVEL = 3.0
"""Prior standard deviation of the level of all log scores, which is unknown."""
STRATEGY = 0.4
"""Of what a strategy changes, whatever the other axes are."""
REACH = 2.0
"""Doublings of a count over which its effect is alike."""

OLD = 0.12
"""Standard error of log(score) of what an earlier search has measured."""
CONTRADICTION = 0.3
"""If configurations differ today by so much from what they were to each other, in log(score), the
workload is another one than before, whatever its fingerprint says."""

Matrix = NDArray[np.float64]
Worth = Callable[[Configuration], float]


class Effects(NamedTuple):
    """Prior standard deviations, in log(score)."""

    axis: float
    """Of the effect of one axis."""
    by_strategy: float
    """Of what a strategy changes about it."""
    pair: float
    """Of the effect of two axes together."""
    together: float
    """Of what only this combination of all axes has."""


MODELS = (
    Effects(axis=0.08, by_strategy=0.03, pair=0.0, together=0.01),
    Effects(axis=0.30, by_strategy=0.05, pair=0.0, together=0.02),
    Effects(axis=0.30, by_strategy=0.15, pair=0.10, together=0.03),
    Effects(axis=0.15, by_strategy=0.05, pair=0.10, together=0.10),
)
"""From workloads where little matters to those where everything depends on everything."""


class Bias(NamedTuple):
    """By what a screening differs from trials: prior standard deviations, in log(score)."""

    axis: float
    """Of what differs with the value of one axis."""
    own: float
    """Of what differs with the configuration, the noise of its one short look included."""


BIASES = (Bias(axis=0.03, own=0.06), Bias(axis=0.30, own=0.30))
"""Of workloads that a screening shows as they are, and of those that it does not show. Assumed, and
weighed by what the trials say."""
COMMON = 0.5
"""Of what all screenings of a search have in common."""
PROCESS = 0.2
"""Of what one of them has beside it."""


class Belief(NamedTuple):
    """What is expected of some configurations, in their order."""

    mean: Matrix
    sd: Matrix


class Surrogate:
    """Expectations over a finite pool.

    Args:
        pool: All configurations that it will be asked about or told of.
    """

    def __init__(self, pool: Sequence[Configuration]) -> None:
        self._row = {each: row for row, each in enumerate(pool)}
        table = [each.values() for each in pool]
        names = dict.fromkeys(name for row in table for name in row)
        every = [_Axis([row.get(name, "") for row in table]) for name in names]
        self._axes = [axis for axis in every if axis.varies]
        self._strategy = _Axis([row["strategy"] for row in table])

    def __contains__(self, configuration: Configuration) -> bool:
        """Return whether it can be asked about a configuration."""
        return configuration in self._row

    def believe(
        self,
        observed: Mapping[Configuration, Observed],
        about: Sequence[Configuration],
        *,
        screenings: Sequence[Screening] = (),
        doubt: float = 0.0,
    ) -> Belief:
        """Return what the runs so far let expect.

        Args:
            observed: What was run, at least one.
            about: Configurations of interest.
            screenings: What was seen of some in passing, at another level.
            doubt: Weight that the models share in equal parts, whatever they have explained.
        """
        seen = [each for screening in screenings for each in screening.figures]
        known = self._rows([*observed, *(each.configuration for each in seen)])
        asked = self._rows(about)
        shown = [each.log_score for each in observed.values()]
        logs = np.array([*shown, *(each.log_score for each in seen)])
        here, across = self._alike(known, known), self._alike(asked, known)
        noises = _noises([each.sd for each in observed.values()], screenings, known, here)
        parts = [
            _posterior(model, here, across, logs, noise) for model in MODELS for noise in noises
        ]
        proven = softmax([proof for _, proof in parts])
        weights = (1 - doubt) * proven + doubt / len(parts)
        return _mixture([belief for belief, _ in parts], weights)

    def _rows(self, configurations: Iterable[Configuration]) -> list[int]:
        return [self._row[each] for each in configurations]

    def _alike(self, these: list[int], those: list[int]) -> _Alike:
        shape = (len(these), len(those))
        each = [axis.alike(these, those) for axis in self._axes] or [np.ones(shape)]
        total, squares = np.sum(each, axis=0), np.sum(np.square(each), axis=0)
        return _Alike(
            strategy=self._strategy.alike(these, those),
            axes=total,
            # The sum of the products of all pairs.
            pairs=(total**2 - squares) / 2,
            together=np.prod(each, axis=0),
            width=len(each),
        )


class Expectations:
    """What all exploring runs of a search together let expect.

    Args:
        history: Everything measured so far.
        pool: All configurations that may be run.
        known: log(rate) of what earlier searches tried, relative to their best single device.
        worth: log(score) minus log(rate) of a configuration: what is known need not be learned.
            None where the score does not follow the rate.
    """

    def __init__(
        self,
        history: History,
        pool: Sequence[Configuration],
        known: Mapping[Configuration, float] = MappingProxyType({}),
        worth: Worth | None = None,
    ) -> None:
        self.history = history
        self.pool = pool
        self._score = None if worth is None else throughput_of
        self._worth = cache(worth or (lambda _: 0.0))
        self._surrogate = Surrogate(pool)
        self._known = {c: gap for c, gap in known.items() if c in self._surrogate}
        self._measured: dict[tuple[bool, bool], dict[Configuration, Observed]] = {}
        self._asked: object = None

    def ranked(self, *, distributed: bool) -> list[Configuration]:
        """Return the measured configurations, the most promising first.

        By what all runs together let expect, because the best of many noisy figures is luck.
        """
        measured = self.measured(distributed=distributed)
        return sorted(measured, key=lambda each: -measured[each].log_score)

    def measured(self, *, distributed: bool, finals: bool = False) -> dict[Configuration, Observed]:
        """Return what is expected of the configurations that were measured.

        Args:
            distributed: On several replicas, or on one.
            finals: Whether runs of the finals count as well as exploring ones.
        """
        # Asked many times between two trials, and every answer takes a matrix to be inverted.
        known = len(self.history.trials), self.history.admitted
        if self._asked != known:
            self._asked = known
            self._measured.clear()
        asked = distributed, finals
        if asked not in self._measured:
            self._measured[asked] = self._expect(distributed=distributed, finals=finals)
        return self._measured[asked]

    def best(self, *, distributed: bool) -> float:
        """Return the highest log(score) that is expected of what was measured."""
        measured = self.measured(distributed=distributed).values()
        return max((each.log_score for each in measured), default=-math.inf)

    def reference(self) -> tuple[float, ...]:
        """Return the score of the best single device, as one figure; empty if there is none.

        Not what it has measured: the best of several noisy runs was lucky as well, and what is
        compared with it would be stopped too often.
        """
        best = self.best(distributed=False)
        return (math.exp(best),) if math.isfinite(best) else ()

    def of(self, configurations: Sequence[Configuration], *, doubt: float = 0.0) -> Belief | None:
        """Return what is expected of some configurations; None while nothing was tried.

        Only here does a screening count: it helps to choose what to try, and nothing else.

        Args:
            configurations: All in the pool.
            doubt: Weight that the models share in equal parts, whatever they have explained.
        """
        shown = self._shown()
        if not shown:
            return None
        seen = [self._without_worth(each) for each in self.history.screenings]
        belief = self._surrogate.believe(shown, configurations, screenings=seen, doubt=doubt)
        return self._with_worth(belief, configurations)

    def surprises(self, *, distributed: bool) -> list[float]:
        """Return how far each exploring run lies from what all the others let expect of it.

        Args:
            distributed: On several replicas, or on one.
        """
        shown = self._shown()
        mine = [c for c in self.measured(distributed=distributed) if len(shown) > 1]
        return [shown[c].log_score - self._without(c, shown) for c in mine]

    def _without(self, one: Configuration, shown: Mapping[Configuration, Observed]) -> float:
        others = {each: seen for each, seen in shown.items() if each != one}
        return float(self._surrogate.believe(others, [one]).mean[0])

    def _expect(self, *, distributed: bool, finals: bool) -> dict[Configuration, Observed]:
        listed = self.history.measured_today if finals else self.history.ranked
        mine = [each for each in listed(distributed=distributed) if each in self._surrogate]
        if not mine:
            return {}
        belief = self._with_worth(self._surrogate.believe(self._shown(finals=finals), mine), mine)
        pairs = zip(belief.mean.tolist(), belief.sd.tolist(), strict=True)
        return dict(zip(mine, (Observed(*each) for each in pairs), strict=True))

    def _with_worth(self, belief: Belief, configurations: Sequence[Configuration]) -> Belief:
        """Return what is expected of scores, from what is of rates."""
        return Belief(belief.mean + np.array([*map(self._worth, configurations)]), belief.sd)

    def _without_worth(self, screening: Screening) -> Screening:
        figures = (Screened(c, log - self._worth(c)) for c, log in screening.figures)
        return screening._replace(figures=tuple(figures))

    def _shown(self, *, finals: bool = False) -> dict[Configuration, Observed]:
        today = self.history.observed(self._score, finals=finals)
        shown = {**self._remembered(today), **self.history.with_failures(today)}
        # A study that is resumed may hold what this version would not try.
        return {c: each for c, each in shown.items() if c in self._surrogate}

    def _remembered(self, today: Mapping[Configuration, Observed]) -> dict[Configuration, Observed]:
        """Return what earlier searches say, at today's level.

        The level is that of the configurations that were run both then and today.
        """
        levels = [today[c].log_score - gap for c, gap in self._known.items() if c in today]
        if not levels or pstdev(levels) > CONTRADICTION:
            return {}
        return {c: Observed(fmean(levels) + gap, OLD) for c, gap in self._known.items()}


class _Alike(NamedTuple):
    """How alike some configurations and others are, in every way that a model uses."""

    strategy: Matrix
    axes: Matrix
    pairs: Matrix
    together: Matrix
    width: int
    """Number of axes, which is what `axes` is for a configuration and itself."""

    def covariance(self, effects: Effects) -> Matrix:
        """Return the prior covariance of the log scores."""
        by_axis = effects.axis**2 + effects.by_strategy**2 * self.strategy
        total: Matrix = (
            LEVEL**2
            + STRATEGY**2 * self.strategy
            + by_axis * self.axes
            + effects.pair**2 * self.pairs
            + effects.together**2 * self.together
        )
        return total

    def own(self, effects: Effects) -> float:
        """Return the prior variance of any log score."""
        count = self.width
        by_axis = effects.axis**2 + effects.by_strategy**2
        pairs = effects.pair**2 * count * (count - 1) / 2
        return LEVEL**2 + STRATEGY**2 + by_axis * count + pairs + effects.together**2


def _posterior(
    effects: Effects, here: _Alike, across: _Alike, logs: Matrix, noise: Matrix
) -> tuple[Belief, float]:
    """Return what one model expects, and the logarithm of its marginal likelihood."""
    factor = cho_factor(here.covariance(effects) + noise, lower=True)
    residual = logs - logs.mean()
    weights = cho_solve(factor, residual)
    prior = across.covariance(effects)
    explained = np.einsum("ij,ji->i", prior, cho_solve(factor, prior.T))
    variance = np.maximum(across.own(effects) - explained, 1e-12)
    proof = -0.5 * residual @ weights - np.log(np.diag(factor[0])).sum()
    return Belief(logs.mean() + prior @ weights, np.sqrt(variance)), float(proof)


def _noises(
    sds: Sequence[float], screenings: Sequence[Screening], known: Sequence[int], alike: _Alike
) -> list[Matrix]:
    """Return the covariance of what hides the truth: noise, and each bias of screenings.

    Args:
        sds: Of the runs.
        screenings: The rows that follow them.
        known: Which configuration each row is of.
        alike: How alike they are.
    """
    seen = [number for number, each in enumerate(screenings) for _ in each.figures]
    noise = np.diag(np.square([*sds, *(0.0 for _ in seen)]))
    if not seen:
        return [noise]
    process = np.array([*(-1 for _ in sds), *seen])
    screened = np.outer(process >= 0, process >= 0)
    same = np.equal.outer(process, process)
    # What repeats of a setting have in common is its own; their scatter is as large.
    equal = (np.equal.outer(known, known) + np.eye(len(known))) / 2
    return [
        noise
        + screened
        * (COMMON**2 + PROCESS**2 * same + bias.axis**2 * alike.axes + bias.own**2 * equal)
        for bias in BIASES
    ]


def _mixture(beliefs: Sequence[Belief], weights: Matrix) -> Belief:
    """Return the mean and the standard deviation of a mixture."""
    means, sds = np.array([b.mean for b in beliefs]), np.array([b.sd for b in beliefs])
    mean = weights @ means
    variance = weights @ (sds**2 + means**2) - mean**2
    return Belief(mean, np.sqrt(np.maximum(variance, 1e-12)))


class _Axis:
    """How alike the values of one axis are, for all pairs of rows."""

    def __init__(self, values: Sequence[Scalar]) -> None:
        found = list(dict.fromkeys(values))
        self.varies = len(found) > 1
        self._table = np.array([[_likeness(a, b) for b in found] for a in found])
        place = {value: index for index, value in enumerate(found)}
        self._index = np.array([place[value] for value in values])

    def alike(self, these: list[int], those: list[int]) -> Matrix:
        """Return it, from 0 to 1."""
        alike: Matrix = self._table[np.ix_(self._index[these], self._index[those])]
        return alike


def _likeness(a: Scalar, b: Scalar) -> float:
    if a == b and type(a) is type(b):
        return 1.0
    if _count(a) and _count(b):
        return math.exp(-abs(math.log2(float(a) / float(b))) / REACH)
    return 0.0


def _count(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
