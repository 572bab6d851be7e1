"""What a run is worth: the training that it is expected to save, in seconds, against what it takes.

With f the posterior of log(score) and T the length of the training by the own settings, a training
with configuration c takes T E[exp(f_own - f_c)]. The plan so far is the least of these over what
may be recommended. Two kinds of runs lower it:

- *Exploring*: a run of k, made n times, moves all that is believed. Its worth is the expected fall
  of the plan (knowledge gradient: Frazier, Powell and Dayanik 2009), over n runs of the same
  configuration, because one noisy run may change nothing and still be worth its sequel (Frazier and
  Powell 2010).
- *Confirming*: something distributed is recommended once its gain is surely above the margin and it
  is certified. Some rounds of the best one and of the best single device are worth what it saves
  where they make it sure.

A run is made where it saves most for each second, everything included that it makes necessary; the
search ends where none is expected to save more than it takes (Xie et al., *Cost-aware Stopping for
Bayesian Optimization*, 2025).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from autotune.config import Configuration
from autotune.search.kernel import Matrix
from autotune.search.posterior import Outlook

SURE = 0.95
"""Probability of a gain above the margin from which something distributed is recommended."""
SURE_SDS = float(ndtri(SURE))
"""Standard deviations above the margin at which it has that probability."""
BESIDE = 0.005
"""Share of the training that may go into what only tells more of the answer."""
AHEAD = (1, 2, 4, 8)
"""Runs of one configuration that are weighed together."""
NODES, _CHANCES = np.polynomial.hermite_e.hermegauss(7)
CHANCES = _CHANCES / _CHANCES.sum()
"""Gauss-Hermite quadrature over what a run may show."""
LEAST, MOST = -8.0, 3.0
"""Bounds of log(training time / that by the own settings): nobody trains twenty times as long, and
a prior with heavy tails would make every run worth a lottery ticket."""
CHALLENGERS = 10
"""Configurations of which one may be the plan after a run: the cheapest so far."""


class Choice(NamedTuple):
    """A run that pays, or a certification."""

    position: int
    saves: float
    """Seconds of training that it is expected to save."""
    takes: float
    """Seconds, with all that it makes necessary."""
    certifies: bool = False


@dataclass(frozen=True, kw_only=True)
class Prospects:
    """What is believed of the candidates, and what is known of each; positions are in `outlook`.

    Attributes:
        outlook: Posterior of log(score).
        configurations: The candidates.
        own: Position of the user's own settings.
        runs: How often each was measured.
        works: How likely a run of each is to be measured.
        may_run: Whether each may run again.
        seconds: Of a run of each; device seconds where these are paid for.
        certifying: Seconds that certifying each takes; 0 where it is certified or on one device.
        certified: Whether each may be recommended as far as its computing is concerned.
        own_works: Whether the own settings may be recommended, run or not.
        margin: Minimum gain of practical relevance, in log(score).
        training: Seconds of training by the own settings that settings can change, in that unit.
    """

    outlook: Outlook
    configurations: Sequence[Configuration]
    own: int
    runs: NDArray[np.int_]
    works: Matrix
    may_run: NDArray[np.bool_]
    seconds: Matrix
    certifying: Matrix
    certified: NDArray[np.bool_]
    own_works: bool
    margin: float
    training: float

    @cached_property
    def several(self) -> NDArray[np.bool_]:
        """Whether each has several replicas."""
        return np.array([each.distributed for each in self.configurations])

    @cached_property
    def longer(self) -> tuple[Matrix, Matrix]:
        """Mean and variance of log(training time / that by the own settings), by hypothesis."""
        o, own = self.outlook, self.own
        variance = o.variance[:, own, None] + o.variance - 2 * o.covariance[:, own]
        return o.mean[:, own, None] - o.mean, np.maximum(variance, 0.0)

    @cached_property
    def times(self) -> Matrix:
        """Expected training time of each, as a share of that by the own settings."""
        mean, variance = self.longer
        found: Matrix = _expected(mean, variance).mean(0)
        return found

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        """Whether each may be recommended, its computing and its gain apart."""
        found = (self.runs > 0) & self.may_run
        found[self.own] = self.own_works
        return found

    @cached_property
    def single(self) -> int:
        """Position of the best single device of those."""
        return self.best(self.available & ~self.several)

    @cached_property
    def leader(self) -> int:
        """Position of what is expected to train fastest of all that is available."""
        return self.best(self.available)

    @cached_property
    def distributed(self) -> int | None:
        """Position of what is expected to train fastest of what is distributed and ran."""
        among = self.available & self.several
        return self.best(among) if among.any() else None

    @cached_property
    def sure(self) -> NDArray[np.bool_]:
        """Whether each available distributed one surely gains more than the margin."""
        found = self.available & self.several
        for k in map(int, np.flatnonzero(found)):
            found[k] = self.outlook.probability(k, self.single, self.margin) >= SURE
        return found

    @cached_property
    def plan(self) -> int:
        """Position of what would be recommended now."""
        allowed = self.sure & self.certified
        allowed[self.single] = True
        return self.best(allowed)

    def best(self, among: NDArray[np.bool_]) -> int:
        """Return the position of what is expected to train fastest."""
        return int(np.where(among, self.times, np.inf).argmin())


def choices(prospects: Prospects, only: Configuration | None = None) -> Iterator[Choice]:
    """Yield what may be done next with one configuration, or with any, whether it pays or not."""
    if only is None:
        yield from _confirming(prospects)
    for k in map(int, np.flatnonzero(prospects.may_run)):
        if only in (None, prospects.configurations[k]):
            yield from _exploring(prospects, k)


def _confirming(s: Prospects) -> Iterator[Choice]:
    """Yield what makes the best distributed configuration recommendable.

    Some rounds make it sure where they move the mean m of its gain over the best single device to
    where m is surely above the margin. They are worth what it then saves, which is more than is
    expected of it now: E[1 - exp(-gain)] over those m alone.
    """
    k, b = s.distributed, s.single
    if k is None or k == s.plan:
        return
    certifying = float(s.certifying[k])
    if s.sure[k]:
        if certifying:
            saves = float(s.times[s.plan] - s.times[k]) * s.training
            yield Choice(k, saves, certifying, certifies=True)
        return
    mean, variance = s.outlook.gap(k, b)
    ahead = float(s.times[b] - s.times[s.plan])
    for rounds in AHEAD:
        move = np.sqrt(np.clip(_moved(s.outlook, k, b, rounds), 1e-12, variance))
        above = mean - s.margin - SURE_SDS * np.sqrt(variance - move**2)
        chance = ndtr(above / move)
        share = chance - _expected(-mean, variance) * ndtr((above - move**2) / move)
        saves = float(s.times[b] * share.mean() - ahead * chance.mean()) * s.training
        takes = rounds * float(s.seconds[k] + s.seconds[b]) + certifying
        yield Choice(max((k, b), key=lambda i: _tells(s, i, k, b)), saves, takes)


def _moved(o: Outlook, k: int, b: int, rounds: int) -> Matrix:
    """Return the variance by which rounds of two configurations move the mean of log(k / b).

    That is a' S^-1 a, with a the covariance of log(k / b) with the two means that are measured, and
    S their own. What runs of these minutes share tells nothing, so it falls below the variance.
    """
    both, common = [k, b], (o.across[:, k, b] + o.across[:, b, k]) / 2
    of_k, of_b = np.moveaxis(o.across[:, k, both] - o.across[:, b, both], 1, 0)
    one, two = np.moveaxis(o.shown[:, both] + o.noise[:, both] / rounds, 1, 0)
    solved = of_k**2 * two - 2 * of_k * of_b * common + of_b**2 * one
    found: Matrix = solved / np.maximum(one * two - common**2, 1e-12)
    return found


def _tells(s: Prospects, i: int, k: int, b: int) -> float:
    """Return how much a run of `i` tells of log(k / b), for its time."""
    if not s.may_run[i]:
        return 0.0
    o = s.outlook
    moved = np.abs(o.across[:, k, i] - o.across[:, b, i]) / np.sqrt(o.shown[:, i] + o.noise[:, i])
    return float(moved.mean()) / float(s.seconds[i])


def _exploring(s: Prospects, k: int) -> Iterator[Choice]:
    """Yield what so many runs of a configuration are worth; of what never pays the most runs."""
    challengers = np.flatnonzero(s.available)
    if len(challengers) > CHALLENGERS:
        challengers = challengers[np.argsort(s.times[challengers])[:CHALLENGERS]]
    challengers = np.unique(np.append(challengers, k))
    extra = 0.0 if s.available[k] else float(s.certifying[k])
    for runs in reversed(AHEAD):
        gain = float(s.times[s.leader]) - _after(s, k, challengers, runs)
        saves = float(s.works[k]) * gain * s.training
        yield Choice(k, saves, runs * float(s.seconds[k]) + extra)
        if saves <= float(s.seconds[k]) + extra:
            return  # Fewer runs tell less.


def _after(s: Prospects, k: int, challengers: NDArray[np.int_], runs: int) -> float:
    """Return the expected time of the plan after some runs of `k`, as a share of the own time.

    What a run shows tells of the hypotheses, too: each is weighed by how likely it makes that.
    """
    o, (longer, variance) = s.outlook, s.longer
    count = len(longer)
    sd = np.sqrt(np.maximum(o.shown[:, k] + o.noise[:, k] / runs, 1e-10))
    shows = (o.mean[:, k, None] + sd[:, None] * NODES).ravel()
    chance = np.tile(CHANCES / count, count)
    off = (shows[:, None] - o.mean[None, :, k]) / sd
    weight = -0.5 * off**2 - np.log(sd)
    weight = np.exp(weight - weight.max(1, keepdims=True))
    weight /= weight.sum(1, keepdims=True)
    move = (o.across[:, s.own, k, None] - o.across[:, challengers, k]) / sd[:, None]
    left = np.maximum(variance[:, challengers] - move**2, 0.0)
    times = _expected(longer[:, challengers] + move * off[:, :, None], left)
    after = np.einsum("yw,ywr->yr", weight, times)
    # The quadrature errs alike where the run says nothing: that is divided out.
    after *= s.times[challengers] / (chance @ after)
    return float(after.min(1) @ chance)


def _expected(mean: Matrix, variance: Matrix) -> Matrix:
    """Return the mean of exp(x) for normal x."""
    found: Matrix = np.exp(np.clip(mean + variance / 2, LEAST, MOST))
    return found
