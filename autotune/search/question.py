"""The one question of a search: what does the best distributed configuration gain?

The gain is log(score) of the best distributed configuration minus that of the best one on one
device, whichever they are, tried or not. Its distribution is drawn from the posterior. From it come
the probability of each answer and what following it is expected to cost, if it is wrong (the
expected opportunity cost of Gupta and Miescke 1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autotune.result import Verdict
from autotune.search.kernel import Matrix
from autotune.search.posterior import Joint
from autotune.stats.intervals import Interval

DRAWS = 4000
SURE_GAIN = 0.99
"""Probability of any gain from which distributing is recommended."""
SURE_NONE = 0.95
"""Probability of no gain above the margin from which staying is recommended."""
SURE_BATCH = (1 + SURE_NONE) / 2
"""Probability that the best of another batch beats the best of the own, all that an example teaches
less there included, from which it may be recommended: one side of an interval of 95 %."""
SMALL_COST = 0.01
"""Expected loss, as a share, below which staying is recommended as well."""
MODES, APART = 0.25, 0.4
"""Prior probability that worker groups start in one of two modes, and stay in it; how far the modes
lie apart, in log(score)."""
DISTURBED = 0.1
"""Share of runs that are disturbed, and far off, where there is one mode."""
FEWEST = 2
"""Runs of what is recommended, and of all on one device together: no single run decides. What is
compared on one device need not have run twice itself, because the posterior has what is like it."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """What is known of the gain.

    Attributes:
        one: The best measured configuration of one device: its position in the joint posterior.
        many: The best measured distributed one, of those that surely gain where there are some;
            None where none was measured.
        faster: Probability that `many` is faster than every configuration on one device.
        none: Probability that no distributed configuration gains more than the margin.
        staying: What staying on `one` is expected to lose of the best, as a share.
        distributing: What `many` is expected to lose.
        draws: log(many / one), for an interval.
        information: How much a run of each candidate tells of whether the likelier answer is wrong.
        verdict: What follows.
        lacks: What runs again before it is said, if there is time; None where nothing does.
    """

    one: int
    many: int | None = None
    faster: float = 0.0
    none: float = 1.0
    staying: float = 0.0
    distributing: float = math.inf
    draws: Matrix = field(default_factory=lambda: np.zeros(1))
    information: Matrix
    verdict: Verdict
    lacks: int | None = None

    @property
    def likely(self) -> bool:
        """Whether `many` is likelier faster than not."""
        return self.faster > 1 / 2

    @property
    def leads(self) -> bool:
        """Whether `many` is likelier faster than `one`, both as they were measured."""
        return self.many is not None and float(np.median(self.draws)) > 0


class BatchPair(NamedTuple):
    """The best of another batch and the best of the own: their positions in a posterior."""

    other: int
    own: int
    known: bool
    """Whether both batches have run often enough for an answer."""


def admitted(
    joint: Joint, kinds: Sequence[Sequence[int]], own: Sequence[bool], runs: Sequence[int]
) -> tuple[set[int], BatchPair | None]:
    """Return which candidates may be recommended, and two that have to be distinguished.

    What did not run may turn out to pay. Another batch has to beat the best of the own that was
    measured, and no single run decides: several configurations with other batches speak for each
    other. Where nothing distributed with the own batch has shown enough, another one has to beat
    one device with it.

    The kinds are the positions of those on one device, and of those on several. Of each is given
    whether it has the user's own batch, and how often it was measured.
    """
    allowed = {k for k, n in enumerate(runs) if own[k] or not n}
    question: BatchPair | None = None
    mine: list[int] = []
    for kind in kinds:
        here = [k for k in kind if own[k]]
        mine = here if not mine or sum(runs[k] for k in here) >= FEWEST else mine
        others = [k for k in kind if runs[k] and not own[k]]
        if not mine or not others:
            continue
        measured = [k for k in mine if runs[k]]
        best = max(measured or mine, key=lambda k: joint.mean[k])
        faster = [k for k in others if joint.mean[k] > joint.mean[best]]
        known = all(sum(runs[k] for k in side) >= FEWEST for side in (others, mine))
        sure = [k for k in faster if known and joint.beats(k, best) >= SURE_BATCH]
        allowed.update(sure)
        if faster and not sure and question is None:
            question = BatchPair(max(faster, key=lambda k: joint.mean[k]), best, known)
    return allowed, question


class Entrants(NamedTuple):
    """Who is compared, by positions in a posterior.

    Attributes:
        singles: Those on one device; one at least was measured.
        several: Those on several replicas.
        runs: How often each was measured.
        shown: Runs of any distributed one that have shown a speed.
        modes: Runs of worker groups that agree, and those that lie in another mode.
        may: Those of several replicas that may be recommended.
        works: How likely each is to run at all, 1 where it did.
        wider: Those on one device that ran with another batch, which may not be recommended.
        other: Those of several replicas with another batch, which have to beat these as well.
    """

    singles: Sequence[int]
    several: Sequence[int]
    runs: Sequence[int]
    shown: int
    modes: tuple[int, int]
    may: Sequence[int]
    works: Matrix
    wider: Sequence[int] = ()
    other: Sequence[int] = ()

    def best(self, mean: Matrix, *, wide: bool = False) -> int:
        """Return the best measured one on one device, by some means."""
        among = (*self.singles, *self.wider) if wide else self.singles
        return max((k for k in among if self.runs[k]), key=lambda k: mean[k])


def gain_of(joint: Joint, entrants: Entrants, margin: float) -> Gain:
    """Return what the runs so far say of the gain; the margin is in log(score)."""
    one, runs, several = entrants.best(joint.mean), entrants.runs, list(entrants.several)
    if not several:
        return Gain(one=one, information=np.zeros(len(runs)), verdict=Verdict.ONE_DEVICE)
    known = _drawn(joint, entrants)
    drawn = _able(known, entrants)
    best_one, best_many = (drawn[:, list(k)].max(1) for k in (entrants.singles, several))
    gains = best_many - best_one > margin
    none = float(np.mean(~gains))
    staying = float(np.mean(np.maximum(-np.expm1(drawn[:, one] - best_many), 0.0)))
    stays = none >= SURE_NONE or staying <= SMALL_COST
    stay = Verdict.ONE_DEVICE if stays and entrants.shown >= FEWEST else Verdict.UNDECIDED
    # What is stayed on may be the luckiest of many.
    unrepeated = one if stay is Verdict.ONE_DEVICE and runs[one] < FEWEST else None
    ahead = _ahead(drawn, entrants)
    if not ahead:
        return Gain(
            one=one,
            none=none,
            staying=staying,
            information=_information(known, gains, joint),
            verdict=stay,
            lacks=unrepeated,
        )
    wide = entrants.best(joint.mean, wide=True)
    against = {k: wide if k in entrants.other else one for k in ahead}
    faster = {k: float(np.mean(each > 0)) for k, each in ahead.items()}
    surest = max(faster, key=lambda k: (faster[k], joint.mean[k]))
    sure = [k for k in ahead if faster[k] >= SURE_GAIN and np.median(ahead[k]) > margin]
    alone = sum(runs[k] for k in (*entrants.singles, *entrants.wider))
    again = [k for k in sure if min(runs[k], alone) >= FEWEST]
    many = max(again or ahead, key=lambda k: joint.mean[k])
    lead, lacks = float(np.median(drawn[:, many] - drawn[:, against[many]])), unrepeated
    if stays and lead > margin and staying > SMALL_COST:
        # What did not run on one device is to be better than what leads: that has to be seen.
        stay, lacks = Verdict.UNDECIDED, max(entrants.singles, key=lambda k: joint.mean[k])
    elif sure and not again:
        lacks = against[surest] if runs[surest] >= FEWEST else surest
    elif stays and not sure and stay is Verdict.UNDECIDED:
        lacks = many
    if lead > 0:
        one = against[many]
    doubted = ahead[surest] <= 0 if faster[surest] > 1 / 2 else gains
    return Gain(
        one=one,
        many=many,
        faster=faster[many],
        none=none,
        staying=staying,
        distributing=float(np.mean(np.maximum(-np.expm1(ahead[many]), 0.0))),
        draws=drawn[:, many] - drawn[:, one],
        information=_information(known, doubted, joint),
        verdict=Verdict.DISTRIBUTE if again else Verdict.UNDECIDED if sure else stay,
        lacks=lacks,
    )


def _drawn(joint: Joint, entrants: Entrants) -> Matrix:
    """Draw log scores; what worker groups have shown may be luck in a part of them."""
    drawn = joint.draw(DRAWS, 0, [k for k, n in enumerate(entrants.runs) if n])
    by_mode = np.random.default_rng(1).random(len(drawn)) < _luck(*entrants.modes)
    drawn[:, list(entrants.several)] -= APART / 2 * by_mode[:, None]
    return drawn


def _able(drawn: Matrix, entrants: Entrants) -> Matrix:
    """Return draws in which what is likely to fail is often missing.

    One draw holds for all: where a batch does not fit, a larger one does not either.
    """
    random = np.random.default_rng(2).random(len(drawn))
    found: Matrix = np.where(random[:, None] < entrants.works, drawn, -np.inf)
    return found


def _ahead(drawn: Matrix, entrants: Entrants) -> dict[int, Matrix]:
    """Return log(each / best on one device) of the measured ones that may be recommended."""
    best_one = drawn[:, list(entrants.singles)].max(1)
    any_one = drawn[:, [*entrants.singles, *entrants.wider]].max(1)
    measured = (k for k in entrants.may if entrants.runs[k])
    return {k: drawn[:, k] - (any_one if k in entrants.other else best_one) for k in measured}


def interval_of(logs: Matrix) -> Interval:
    """Return the median and the middle 95 % of drawn logarithms."""
    low, value, high = np.exp(np.quantile(logs, [0.025, 0.5, 0.975])).tolist()
    return Interval(low=low, value=value, high=high)


def _information(drawn: Matrix, asked: NDArray[np.bool_], joint: Joint) -> Matrix:
    """Return by how much a run of each is expected to lower the variance of a yes or no.

    By linear regression of the one on the other, over the draws.
    """
    off = drawn - drawn.mean(0)
    together = (off * (asked - asked.mean())[:, None]).mean(0)
    found: Matrix = together**2 / ((off**2).mean(0) + joint.noise)
    return found


def _luck(agree: int, differ: int) -> float:
    """Return the probability that worker groups start in one of two modes, by what ran in each.

    Each group then starts in either alike; otherwise few runs are disturbed.
    """
    odds = MODES / (1 - MODES) * (0.5 / (1 - DISTURBED)) ** agree * (0.5 / DISTURBED) ** differ
    return odds / (1 + odds)
