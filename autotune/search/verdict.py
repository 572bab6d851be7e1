"""The answer to "should I distribute this training?", from the finals alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autotune.config import Configuration
from autotune.result.verdict import Decision, Verdict
from autotune.stats import Estimate, Noise, believed, paired, shared_rounds

FALSE_RATE = 0.01
"""How often "distribute" may be said with nothing to gain, over all looks and challengers."""
LOOKS = {3: 0.10, 4: 0.15, 5: 0.15, 6: 0.25}
"""Share of that rate which may be spent on a look after so many rounds. Each look may err, so the
first ones accept only a clear gain."""
LAST_LOOK = 0.35
"""Share for the look when time or rounds have run out."""
FEWEST = min(LOOKS)
"""Rounds before anything is said."""
MAX_ROUNDS = 12
"""Beyond these, more rounds would tell apart only what does not matter."""
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
    known = {c: each for c in challengers if (each := gain(c, baseline, rates, noise))}
    if not known:
        return Decision(verdict=Verdict.UNDECIDED if challengers else Verdict.ONE_DEVICE)
    best = max(known, key=lambda c: known[c].mean)
    sure = known[best].interval(1 - 2 * FALSE_RATE * share / len(challengers))
    rounds = len(shared_rounds(best, baseline, rates)[0])
    most = max(each.interval().high for each in known.values())
    verdict = Verdict.UNDECIDED
    if rounds >= FEWEST and sure.low > 1 and sure.value > 1 + margin:
        verdict = Verdict.DISTRIBUTE
    elif len(known) == len(challengers) and most < 1 + margin:
        verdict = Verdict.ONE_DEVICE
    return Decision(
        verdict=verdict,
        challenger=best,
        gain=believed(known[best]),
        rounds=rounds,
        most=most,
    )


def gain(
    challenger: Configuration, baseline: Configuration, rates: Rates, noise: Noise
) -> Estimate | None:
    """Return how much faster a challenger is, if both ran in two rounds.

    Args:
        challenger: A distributed finalist.
        baseline: What it is compared with.
        rates: What was measured in the finals.
        noise: Between-run noise.
    """
    mine, theirs = shared_rounds(challenger, baseline, rates)
    return paired(mine, theirs, noise) if len(mine) > 1 else None
