"""The answer to "should I distribute this training?", from the finals alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autotune.config import Configuration
from autotune.measure import Interval, Noise, paired_ratio, shared_rounds
from autotune.result.verdict import Decision, Verdict

FALSE_RATE = 0.01
"""How often "distribute" may be said with nothing to gain, over all looks and challengers."""
LOOKS = {3: 0.05, 4: 0.05, 5: 0.05, 6: 0.40}
"""Share of that rate which may be spent on a look after so many rounds. Each look may err, so the
first ones accept only a very clear gain."""
LAST_LOOK = 0.45
"""Share for the look when time or rounds have run out."""
FEWEST = min(LOOKS)
"""Rounds before anything is said."""

Rates = Mapping[Configuration, Mapping[int, float]]
"""Throughput of each finalist, by round."""


def decide(
    baseline: Configuration,
    challengers: Sequence[Configuration],
    rates: Rates,
    noise: Noise,
    margin: float,
    share: float = LAST_LOOK,
) -> Decision:
    """Return the verdict that the finals allow so far.

    "distribute" needs a gain above the margin that is surely above zero; "one device" needs every
    challenger to gain less than the margin, with 97.5 % confidence each.

    Args:
        baseline: The best single-device finalist.
        challengers: The distributed finalists, those that dropped out as beaten included.
        rates: What was measured in the finals.
        noise: Between-run noise.
        margin: A gain below this share is not worth the trouble.
        share: Of the false rate, what this look may spend.
    """
    gains = {c: _gain(c, baseline, rates, noise) for c in challengers}
    known = {c: gain for c, gain in gains.items() if gain is not None}
    if not known:
        return Decision(verdict=Verdict.UNDECIDED if challengers else Verdict.ONE_DEVICE)
    best = max(known, key=lambda c: known[c].value)
    confidence = 1 - 2 * FALSE_RATE * share / len(challengers)
    sure = _gain(best, baseline, rates, noise, confidence)
    rounds = len(shared_rounds(best, baseline, rates)[0])
    verdict = Verdict.UNDECIDED
    if rounds >= FEWEST and sure and sure.low > 1 and known[best].value > 1 + margin:
        verdict = Verdict.DISTRIBUTE
    elif len(known) == len(challengers) and all(g.high < 1 + margin for g in known.values()):
        verdict = Verdict.ONE_DEVICE
    most = max(gain.high for gain in known.values())
    return Decision(verdict=verdict, challenger=best, gain=known[best], rounds=rounds, most=most)


def _gain(
    challenger: Configuration,
    baseline: Configuration,
    rates: Rates,
    noise: Noise,
    confidence: float = 0.95,
) -> Interval | None:
    mine, theirs = shared_rounds(challenger, baseline, rates)
    return paired_ratio(mine, theirs, noise, confidence=confidence) if len(mine) > 1 else None
