"""Sums and differences of steps that were timed in turns, as shares of one of them.

Noise multiplies, and what the machine does to all runs of a round cancels in their ratios. With
errors e of log(seconds), a sum of shares c t / t_0 is off by that of c t / t_0 (e - e_0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from autotune.checks.experiment import Experiment, Round, Rounds
from autotune.stats import Interval, Noise, squared_residuals
from autotune.stats.intervals import t_quantile

Terms = Mapping[Experiment, float]
"""What is added up: experiments, each with the factor by which it counts."""


def share(terms: Terms, rounds: Rounds, noise: Noise, *, of: Experiment) -> Interval | None:
    """Return a sum of timings as a share of one, with its 95 % interval; it may be negative.

    None if no round has all that it takes.
    """
    used = with_all(rounds, [*terms, of])
    if not used:
        return None
    parts = {each: factor * _ratio(used, each, of) for each, factor in terms.items()}
    value = sum(parts.values())
    others = [part for each, part in parts.items() if each is not of]
    error = noise.sd * math.sqrt((sum(x * x for x in others) + sum(others) ** 2) / len(used))
    half = t_quantile(noise.degrees, 0.975) * error
    return Interval(low=value - half, value=value, high=value + half)


def seconds(rounds: Rounds, experiment: Experiment) -> float | None:
    used = with_all(rounds, [experiment])
    return _mean(used, experiment) if used else None


def with_all(rounds: Rounds, experiments: list[Experiment]) -> list[Round]:
    return [each for each in rounds if all(one in each for one in experiments)]


def learned(rounds: Rounds, expected: Noise) -> Noise:
    """Return the noise between runs of a round, with what repeated rounds show of it.

    What is common to all runs of a round is no noise.
    """
    # The time may have ended after the first run of a round, which is compared with nothing then.
    used = [each for each in rounds if len(each) > 1]
    common = set.intersection(*map(set, used)) if used else set()
    if len(used) < 2 or len(common) < 2:
        return expected
    means = [fmean(math.log(each[one]) for one in common) for each in used]
    squares, _ = squared_residuals(
        [math.log(each[one]) - mean_log for each, mean_log in zip(used, means, strict=True)]
        for one in common
    )
    freedom = (len(used) - 1) * (len(common) - 1)
    degrees = expected.degrees + freedom
    variance = (expected.degrees * expected.sd**2 + squares) / degrees
    return Noise(sd=math.sqrt(variance), degrees=degrees)


def _ratio(used: Rounds, experiment: Experiment, of: Experiment) -> float:
    return _mean(used, experiment) / _mean(used, of)


def _mean(used: Rounds, experiment: Experiment) -> float:
    return math.exp(fmean(math.log(each[experiment]) for each in used))
