"""The answer to "should I distribute this training?", from the finals alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from autotune.config import Configuration
from autotune.measure import Interval, Noise, paired_ratio
from autotune.recommendation import Verdict
from autotune.value import Value

ROUNDS = 6
"""Rounds after which a gain is judged; six fresh interleaved pairs, as in `CONFIDENCE`."""
CONFIDENCE = 0.98
"""Two-sided, so that "distribute" is said in at most 1 % of cases with nothing to gain."""
EARLY = 3
"""Rounds after which a gain may be beyond doubt all the same, if it is very clear."""
EARLY_CONFIDENCE = 0.998
"""How clear: each further look may err, so the sum over all of them has to stay small."""

Rates = Mapping[Configuration, Mapping[int, float]]
"""Throughput of each finalist, by round."""


class Decision(Value):
    """A verdict and the comparison behind it."""

    verdict: Verdict
    challenger: Configuration | None = None
    """The best distributed finalist; None if none was left to compare."""
    gain: Interval | None = None
    """Its throughput as a multiple of the best single device's."""
    sure_low: float | None = None
    """Lower bound of the gain at the confidence that "distribute" needs after so many rounds."""
    rounds: int = 0
    """Rounds in which both were measured."""


def decide(
    yardstick: Configuration,
    challengers: Sequence[Configuration],
    rates: Rates,
    noise: Noise,
    margin: float,
) -> Decision:
    """Return the verdict that the finals allow so far.

    Args:
        yardstick: The best single-device finalist.
        challengers: The distributed finalists.
        rates: What was measured in the finals.
        noise: Between-run noise.
        margin: A gain below this share is not worth the trouble.
    """
    compared = [_compare(yardstick, each, rates, noise) for each in challengers]
    known = [each for each in compared if each.gain is not None]
    if not challengers:
        return Decision(verdict=Verdict.ONE_DEVICE)
    if not known:
        return Decision(verdict=Verdict.UNDECIDED)
    best = max(known, key=lambda each: each.gain.value if each.gain else 0.0)
    verdicts = [_verdict(each, margin) for each in known]
    verdict = _verdict(best, margin)
    if verdict is Verdict.ONE_DEVICE and Verdict.UNDECIDED in verdicts:
        verdict = Verdict.UNDECIDED
    return best.model_copy(update={"verdict": verdict})


def best_of(finalists: Sequence[Configuration], rates: Rates) -> Configuration:
    """Return the finalist with the highest throughput; the first one while nothing is known."""
    known = [each for each in finalists if rates.get(each)]
    if not known:
        return finalists[0]
    return max(known, key=lambda each: fmean(math.log(rate) for rate in rates[each].values()))


def shared(a: Configuration, b: Configuration, rates: Rates) -> tuple[list[float], list[float]]:
    """Return what two finalists measured in the rounds that both finished."""
    rounds = sorted(rates.get(a, {}).keys() & rates.get(b, {}).keys())
    return [rates[a][r] for r in rounds], [rates[b][r] for r in rounds]


def _beyond_doubt(compared: Decision) -> bool:
    """Whether the gain is surely above zero."""
    return compared.rounds >= EARLY and compared.sure_low is not None and compared.sure_low > 1


def _compare(
    yardstick: Configuration, challenger: Configuration, rates: Rates, noise: Noise
) -> Decision:
    theirs, ours = shared(challenger, yardstick, rates)
    if len(theirs) < 2:
        return Decision(verdict=Verdict.UNDECIDED, challenger=challenger, rounds=len(theirs))
    needed = CONFIDENCE if len(theirs) >= ROUNDS else EARLY_CONFIDENCE
    return Decision(
        verdict=Verdict.UNDECIDED,
        challenger=challenger,
        gain=paired_ratio(theirs, ours, noise),
        sure_low=paired_ratio(theirs, ours, noise, confidence=needed).low,
        rounds=len(theirs),
    )


def _verdict(compared: Decision, margin: float) -> Verdict:
    gain = compared.gain
    if gain is None:
        return Verdict.UNDECIDED
    if _beyond_doubt(compared) and gain.value > 1 + margin:
        return Verdict.DISTRIBUTE
    if gain.high < 1 + margin:
        return Verdict.ONE_DEVICE
    return Verdict.UNDECIDED
