"""How much two runs of one configuration differ, and what that lets say of two configurations."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

from autotune.stats.intervals import Interval, around, f_quantile, t_probability, t_quantile
from autotune.stats.windows import Reading
from autotune.value import Value

TRUSTED = 2.0
"""Repeats that the noise of earlier searches is worth in the finals: today's soon overrule it."""
FALSE_PRUNE_RATE = 0.005
"""Probability that an equally fast run is stopped early, over all looks at it together."""
BORROWED = 5.0
"""Pairs that the noise known from all runs is worth in a paired comparison. With more, a challenger
that scatters more than the others would be believed too early; with fewer, a gain of a tenth takes
half as many rounds again."""
TYPICAL = 0.95
"""Pairs that scatter by more than this share of such pairs do are not helped by that noise."""

Runner = TypeVar("Runner", bound=Hashable)


class Noise(Value):
    """Standard deviation of log(rate) between fresh runs, and how well it is known."""

    sd: float
    degrees: float
    """Degrees of freedom behind `sd`."""


EXPECTED = Noise(sd=0.06, degrees=4.0)
"""What is expected of a machine that nobody has measured, and how many repeats that is worth;
3 to 16 % were seen on two shared cores."""


class Expected(Value):
    """What is expected of the noise between runs, before anything was repeated."""

    exploring: Noise = EXPECTED
    """Whoever expects too little noise stops good runs early, so the past can only raise it."""
    finals: Noise = Noise(sd=EXPECTED.sd, degrees=1.0)
    """They repeat what they compare, and soon know better."""


UNMEASURED = Expected()
"""Of a machine that nobody has measured."""


def expectation(past: Noise | None) -> Expected:
    """Return the noise to expect, given what the machine's earlier searches have shown, if any."""
    if past is None:
        return UNMEASURED
    sd = max(past.sd, EXPECTED.sd)
    return Expected(
        exploring=Noise(sd=sd, degrees=EXPECTED.degrees),
        finals=Noise(sd=past.sd, degrees=min(past.degrees, TRUSTED)),
    )


def pooled_noise(groups: Iterable[Sequence[float]], expected: Noise = EXPECTED) -> Noise:
    """Return the noise, estimated from repeats and drawn towards what was expected.

    A scaled inverse chi-squared prior on the variance, with the residuals of each group around
    its own mean added to it. A group holds log(rate) of the runs of a configuration.
    """
    squares, freedom = squared_residuals(groups)
    degrees = expected.degrees + freedom
    return Noise(
        sd=math.sqrt((expected.degrees * expected.sd**2 + squares) / degrees), degrees=degrees
    )


def squared_residuals(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the sum of squares of groups around their own means, and its degrees of freedom."""
    squares, degrees = 0.0, 0
    for values in groups:
        if len(values) > 1:
            mean = fmean(values)
            squares += sum((each - mean) ** 2 for each in values)
            degrees += len(values) - 1
    return squares, degrees


def root_mean_square(one: Noise, other: Noise) -> Noise:
    """Return the noise of two configurations that differ in it, as that of two that do not.

    Degrees of freedom of a sum of two variances by Satterthwaite's approximation (1946).
    """
    first, second = one.sd**2, other.sd**2
    degrees = (first + second) ** 2 / (first**2 / one.degrees + second**2 / other.degrees)
    return Noise(sd=math.sqrt((first + second) / 2), degrees=degrees)


def mean_rate(rates: Sequence[float], noise: Noise) -> Interval:
    """Return the rate of a configuration from its runs, at least one.

    Their own scatter gives the interval, joined with the noise seen on the machine so far.
    """
    logs = [math.log(each) for each in rates]
    if len(logs) >= 3:
        return joined(logs, noise).interval()
    half = t_quantile(noise.degrees, 0.975) * noise.sd / math.sqrt(len(logs))
    return around(fmean(logs), half)


def shared_rounds(
    a: Runner, b: Runner, rates: Mapping[Runner, Mapping[int, float]]
) -> tuple[list[float], list[float]]:
    """Return what two finalists measured in the rounds that both finished."""
    rounds = sorted(rates.get(a, {}).keys() & rates.get(b, {}).keys())
    return [rates[a][r] for r in rounds], [rates[b][r] for r in rounds]


def unpaired_ratio(a: Interval, b: Interval) -> Interval:
    """Return a ratio of two independent figures: errors of logarithms add as squares."""
    half = math.hypot(math.log(a.high / a.value), math.log(b.high / b.value))
    return around(math.log(a.value / b.value), half)


class Estimate(NamedTuple):
    """A mean of logarithms, and how well it is known."""

    mean: float
    error: float
    """Its standard error."""
    degrees: float
    """Degrees of freedom behind the error."""

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return what it is the logarithm of, with its two-sided interval."""
        half = t_quantile(self.degrees, (1 + confidence) / 2) * self.error
        return around(self.mean, half)

    def chance_below(self, log: float) -> float:
        """Return the probability that it is truly below a logarithm."""
        return t_probability(self.degrees, (log - self.mean) / self.error)


def paired(challenger: Sequence[float], reference: Sequence[float], noise: Noise) -> Estimate:
    """Compare two configurations by runs that took turns.

    The scatter of the pairs gives the error. While they are few it is joined with the noise
    between runs that is known from elsewhere, as if that were `BORROWED` more pairs: two or three
    pairs alone would now and then agree by chance and claim far too much. Where they scatter by
    more than such noise can, they speak for themselves.

    Args:
        challenger: The rate of one in each round, at least two rounds.
        reference: The other's rate in the same rounds.
        noise: Between-run noise; of two configurations that differ in it, the root mean square.
    """
    logs = [math.log(a / b) for a, b in zip(challenger, reference, strict=True)]
    # The difference of two runs varies twice as much as one.
    return joined(logs, Noise(sd=math.sqrt(2) * noise.sd, degrees=noise.degrees))


def joined(logs: Sequence[float], known: Noise) -> Estimate:
    """Return the mean of some figures, its error from their scatter and from what is known of it.

    Args:
        logs: At least two.
        known: The scatter that they are expected to have. What is known of it may come from the
            same figures, so that both together are never worth more than it with what it borrows.
    """
    own, degrees = squared_residuals([logs])
    expected = known.sd**2
    variance = (own + BORROWED * expected) / (degrees + BORROWED)
    if degrees > 1 and own > degrees * expected * f_quantile(degrees, BORROWED, TYPICAL):
        return Estimate(fmean(logs), math.sqrt(own / degrees / len(logs)), degrees)
    together = min(degrees + BORROWED, max(known.degrees, degrees))
    return Estimate(fmean(logs), math.sqrt(variance / len(logs)), together)


def paired_ratio(
    challenger: Sequence[float],
    reference: Sequence[float],
    noise: Noise,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Return how many times faster the challenger is, from at least two rounds; as `paired`."""
    return paired(challenger, reference, noise).interval(confidence)


def certainly_slower(
    rate: float, reading: Reading, reference: Sequence[float], noise: Noise, *, analyses: int
) -> float | None:
    """Return a bound on a run's share of the reference's rate, if it is certainly below one.

    The difference of logarithms has the variance of one run, of the reference's mean, and of the
    windows; interim analyses of the same run share the false-prune rate (Bonferroni).

    Args:
        rate: What the run has shown so far, in the unit of `reference`.
        reading: The windows behind `rate`.
        reference: Rates of the reference's runs, at least one.
        noise: Between-run noise.
        looks: How many interim analyses of the run there will be.
    """
    gap = math.log(rate) - fmean(math.log(each) for each in reference)
    error = math.sqrt(noise.sd**2 * (1 + 1 / len(reference)) + reading.error**2)
    bound = gap + _reach(error, noise, FALSE_PRUNE_RATE / analyses)
    return math.exp(bound) if bound < 0 else None


def significantly_below(gap: float, error: float, noise: Noise, *, wrong: float) -> bool:
    """Return whether a difference of logarithms is significantly negative.

    Args:
        gap: The difference.
        error: Its standard error, which follows from the noise.
        noise: Between-run noise.
        wrong: How often this may be said of a difference of zero.
    """
    return gap + _reach(error, noise, wrong) < 0


def _reach(error: float, noise: Noise, wrong: float) -> float:
    return t_quantile(noise.degrees, 1 - wrong) * error
