"""What all runs together say of log(score) of every configuration: one posterior.

    log(score) of a run = f(configuration) + drift(time) + noise

`f` is a Gaussian process with an additive kernel (`kernel`). The drift of the machine is a process
with an exponential kernel over minutes, so that runs close in time are compared with each other.
The noise differs between one device and several replicas. Beyond two standard deviations it has the
tails of Student's t with four degrees of freedom, so that one disturbed run decides nothing: it is
a normal distribution whose variance is divided by a weight for each run, found by expectation
maximization (Lange, Little and Taylor 1989).

How large all of these are is not known, and is drawn from its posterior by an ensemble of walkers.
With each run they are resampled and move (Gilks and Berzuini 2001), by the stretch move (Goodman
and Weare 2010). Each walker is a hypothesis, under which everything is normal; their mixture has
the tails of what is not known. What a run shows beside its model is either noise or what only this
configuration has; repeats tell which.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from autotune.search.kernel import Kernel, Matrix
from autotune.stats.intervals import EXPECTED

NOISE, RATIO, DRIFT = (EXPECTED.sd, 0.8), (1.0, 0.8), (0.03, 1.0)
"""Median and standard deviation of the logarithm: of the noise of one device, of how many times as
noisy several replicas are, and of the drift of a machine. Sixteen recorded workloads on two shared
cores have 0.077 and 0.45 of the first, 0.86 and 0.40 of the second. Both are wider: a few repeats
which scatter by 0.3 %, as on a quiet machine, are to be believed, and so is a class four times as
noisy as the other. A smaller value makes false *distribute* answers more frequent."""
NOISIER = 0.6
"""The same deviation above the median of the noise. No machine was seen whose runs differ by more
than 16 %, so what differs by more is an effect."""
MINUTES = 3.0
"""Time over which a machine's drift is alike."""
DEGREES, WHOLE = 4.0, 2.0
"""Degrees of freedom of the t distribution of the noise's tails, and the standard deviations within
which a run counts whole: normal noise then loses next to nothing."""
KNOWN = 3
"""Parameters before those of the kernel."""
WALKERS, STEPS = 128, 10
"""Steps that each walker takes from where the runs before have left it."""
MOST_RUNS, LAST = 48, 4
"""Runs beyond which the older ones of a configuration stand together, all but the last few; and
beyond which each walker takes fewer steps, because a run more then tells little about the noise."""
FARTHEST = 4.0
"""Standard deviations from the prior's middle beyond which no walker goes."""
LEAST_VARIANCE = 1e-10


class Run(NamedTuple):
    """What a run has shown."""

    row: int
    """Its configuration's position in the pool."""
    log_score: float
    minutes: float
    """When it ran."""
    error: float = 0.0
    """Standard error in log(score) that is its own, beside the noise between runs."""
    repeats: float = 1.0
    """As how many runs it counts."""


def condensed(runs: Sequence[Run]) -> list[Run]:
    """Return few runs for many: of each configuration the last ones, and the median of the others.

    The work for n runs grows by n^3. A median of many counts as 2 / pi as many.
    """
    if len(runs) <= MOST_RUNS:
        return [*runs]
    by_row: dict[int, list[Run]] = {}
    for run in runs:
        by_row.setdefault(run.row, []).append(run)
    found = []
    for mine in by_row.values():
        older, last = mine[:-LAST], mine[-LAST:]
        found += [*([_median(older)] if older else []), *last]
    return found


def _median(runs: Sequence[Run]) -> Run:
    logs, minutes, errors = np.array([(r.log_score, r.minutes, r.error) for r in runs]).T
    return runs[0]._replace(
        log_score=float(np.median(logs)),
        minutes=float(minutes.mean()),
        error=float(np.sqrt(np.mean(errors**2))),
        repeats=1 + (len(runs) - 1) * 2 / math.pi,
    )


@dataclass(frozen=True)
class Outlook:
    """What is believed of some configurations over a long training, under each hypothesis.

    Attributes:
        mean: Of log(score). Shape: hypotheses, configurations.
        covariance: Shape: hypotheses, configurations, configurations.
        across: Covariance of each configuration (rows) with a run that is made now (columns), which
            shares the machine's drift with the last runs. Shape: as `covariance`.
        shown: Variance of what a run that is made now shows, without its noise. Shape: as `mean`.
        noise: Variance of a run. Shape: as `mean`.
    """

    mean: Matrix
    covariance: Matrix
    across: Matrix
    shown: Matrix
    noise: Matrix

    @cached_property
    def variance(self) -> Matrix:
        found: Matrix = np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), LEAST_VARIANCE)
        return found

    def gap(self, one: int, other: int) -> tuple[Matrix, Matrix]:
        """Return mean and variance of log(one / other) under each hypothesis."""
        between = self.covariance[:, one, other]
        variance = self.variance[:, one] + self.variance[:, other] - 2 * between
        return self.mean[:, one] - self.mean[:, other], np.maximum(variance, LEAST_VARIANCE)

    def probability(self, one: int, other: int, margin: float = 0.0) -> float:
        """Return that of one being better than another by more than a margin, in log(score)."""
        mean, variance = self.gap(one, other)
        return float(np.mean(ndtr((mean - margin) / np.sqrt(variance))))

    def draw(self, count: int, seed: int, ran: Sequence[int]) -> Matrix:
        """Draw log scores. Shape: about `count`, configurations.

        What ran is drawn as it is correlated. What did not deviates in common from what the former
        lets expect of it: drawn by themselves, the best of many would be far too good, because what
        no kernel knows of a workload bounds its fast configurations together.
        """
        random, known = np.random.default_rng(seed), list(ran)
        size, hypotheses = self.mean.shape[1], len(self.mean)
        others = np.setdiff1d(np.arange(size), known)
        each = -(-count // hypotheses)
        # Variance beyond what rounding takes of it; its deviation of 0.01 % changes no answer.
        jitter = 1e-8 * np.eye(len(known))
        lower = np.linalg.cholesky(self.covariance[:, known][:, :, known] + jitter)
        across = np.linalg.solve(lower, self.covariance[:, known][:, :, others])
        own = self.variance[:, others] - (across**2).sum(1)
        normal = random.standard_normal((hypotheses, each, len(known)))
        common = random.standard_normal((hypotheses, each, 1))
        rows = np.empty((hypotheses, each, size))
        rows[..., known] = self.mean[:, None, known] + normal @ np.swapaxes(lower, 1, 2)
        spread = np.sqrt(np.maximum(own, 0.0))[:, None]
        rows[..., others] = self.mean[:, None, others] + normal @ across + common * spread
        return rows.reshape(-1, size)


class Posterior:
    """Learns from runs; `several` tells which configurations of the pool have several replicas."""

    def __init__(self, kernel: Kernel, several: Sequence[bool]) -> None:
        self._kernel = kernel
        self._several = np.array(several).astype(int)
        every = np.array([NOISE, RATIO, DRIFT, *kernel.prior])
        self._middle, self._spread = np.log(every[:, 0]), every[:, 1]
        self._random = np.random.default_rng(0)
        normal = self._random.standard_normal((WALKERS, len(every)))
        normal = np.clip(normal, -FARTHEST, FARTHEST)
        self._walkers = self._middle + self._spread * normal
        self._walkers[:, 0] += (NOISIER - NOISE[1]) * np.maximum(normal[:, 0], 0.0)
        self._logs = -0.5 * (normal**2).sum(1)
        """Log posterior of each walker by the runs that it has seen."""
        self._rows: list[int] = []
        self._times = np.zeros(0)
        self._offset = 0.0
        self._white = np.zeros((WALKERS, 0, 0))
        self._solved = np.zeros((WALKERS, 0))

    def learn(self, runs: Sequence[Run]) -> None:
        """Take in all runs so far, at least one."""
        self._rows = [run.row for run in runs]
        self._alike = self._kernel.alike(self._rows, self._rows)
        self._times = np.array([run.minutes for run in runs])
        self._alike_in_time = _alike_in_time(self._times[:, None], self._times)
        self._errors = np.array([run.error for run in runs])
        self._counts = np.array([run.repeats for run in runs])
        logs = np.array([run.log_score for run in runs])
        self._offset = float(logs.mean())
        self._shown = logs - self._offset
        self._weights = np.ones(len(runs))
        # What is new may be an effect that nobody expected, before it is taken for a disturbance.
        self._resample()
        self._move()
        self._reweigh()
        self._resample()
        self._move()
        signal, errors, rest = self._parts(self._walkers)
        self._white = _whitening(signal, errors)
        self._solved = np.einsum("wji,wj->wi", self._white, _by(self._white, rest))

    def _resample(self) -> None:
        """Keep each walker as often as what is new makes it likelier, by systematic resampling."""
        log = self._log(self._walkers)
        gained = np.exp(log - self._logs - np.max(log - self._logs))
        ends = np.cumsum(gained) / gained.sum()
        at = (np.arange(WALKERS) + self._random.random()) / WALKERS
        kept = np.minimum(np.searchsorted(ends, at), WALKERS - 1)
        kept = self._random.permutation(kept)
        self._walkers, self._logs = self._walkers[kept], log[kept]

    def _move(self) -> None:
        """Let each half of the walkers move along lines to walkers of the other half."""
        log, half = self._logs, WALKERS // 2
        steps = max(round(STEPS * min(1.0, MOST_RUNS / len(self._rows)) ** 2), 1)
        for step in range(2 * steps):
            mine = np.arange(half) + half * (step % 2)
            others = self._walkers[self._random.permutation(half) + half * (1 - step % 2)]
            # The stretch move, with the scale that its authors have: two.
            z = (1 + (2.0 - 1) * self._random.random(half)) ** 2 / 2.0
            moved = others + z[:, None] * (self._walkers[mine] - others)
            found = self._log(moved)
            ahead = (moved.shape[1] - 1) * np.log(z) + found - log[mine]
            taken = np.log(self._random.random(half)) < ahead
            self._walkers[mine[taken]], log[mine[taken]] = moved[taken], found[taken]

    def _log(self, walkers: Matrix) -> Matrix:
        """Return the log posterior of some walkers; minus infinity far from the prior."""
        off = (walkers - self._middle) / self._spread
        off[:, 0] *= np.where(off[:, 0] > 0, NOISE[1] / NOISIER, 1.0)
        far = np.abs(off) > FARTHEST
        walkers = np.where(far, self._middle, walkers)
        signal, errors, rest = self._parts(walkers)
        count = len(self._rows)
        # The factor of the covariance, bordered by the residuals, has them solved in its last row.
        bordered = np.empty((len(walkers), count + 1, count + 1))
        bordered[:, :count, :count] = signal
        bordered[:, range(count), range(count)] += errors
        bordered[:, count, :count] = rest
        bordered[:, count, count] = 1e12
        lower = np.linalg.cholesky(bordered)
        half = lower[:, count, :count]
        likelihood = -0.5 * (half**2).sum(-1)
        likelihood -= np.log(np.diagonal(lower, axis1=-2, axis2=-1)[:, :count]).sum(-1)
        prior = -0.5 * (off**2).sum(1)
        found: Matrix = np.where(far.any(1), -np.inf, likelihood + prior)
        return found

    def _parts(self, walkers: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return the covariance of what the runs measured, their noise, and their residuals."""
        drift = np.exp(2 * walkers[:, 2])[:, None, None] * self._alike_in_time
        signal = self._kernel.covariance(self._alike, walkers[:, KNOWN:]) + drift
        noise = self._sds(walkers, self._rows)
        errors = (noise**2 / self._weights + self._errors**2) / self._counts
        rest = self._shown - self._kernel.expected[self._rows]
        return signal, errors, np.broadcast_to(rest, noise.shape)

    def _sds(self, walkers: Matrix, rows: Sequence[int]) -> Matrix:
        """Return the standard deviation of the noise of a run of each row."""
        found: Matrix = np.exp(walkers[:, :1] + walkers[:, 1:2] * self._several[list(rows)])
        return found

    def _reweigh(self) -> None:
        """Weigh each run by how far it lies from what all runs let expect of it: at most one."""
        signal, errors, rest = self._parts(self._walkers)
        white = _whitening(signal, errors)
        half = signal @ np.swapaxes(white, 1, 2)
        variance = np.diagonal(signal, axis1=1, axis2=2) - (half**2).sum(-1)
        off = rest - _by(half, _by(white, rest))
        noise = self._sds(self._walkers, self._rows)
        squares = (off**2 + np.maximum(variance, 0.0)) / noise**2
        squares *= self._counts
        weights = (DEGREES + WHOLE**2) / (DEGREES + squares.mean(0))
        self._weights = np.minimum(weights, 1.0)

    def marginals(self) -> tuple[Matrix, Matrix]:
        """Return mean and standard deviation of every configuration of the pool.

        By a few of the walkers, because it only serves to find who is worth a closer look.
        """
        some = slice(None, None, 8)
        walkers, every = self._walkers[some, KNOWN:], range(self._kernel.size)
        across = self._kernel.covariance(self._kernel.alike(every, self._rows), walkers)
        means = self._kernel.expected + _by(across, self._solved[some])
        own = self._kernel.covariance(self._kernel.alike([0], [0]), walkers)[:, 0]
        variances = own - ((across @ np.swapaxes(self._white[some], 1, 2)) ** 2).sum(-1)
        mean = means.mean(0)
        square = (np.maximum(variances, LEAST_VARIANCE) + means**2).mean(0) - mean**2
        return self._offset + mean, np.sqrt(np.maximum(square, LEAST_VARIANCE))

    def outlook(self, rows: Sequence[int], minutes: float, hypotheses: int = WALKERS) -> Outlook:
        """Return what is believed of some configurations over a long training.

        Args:
            rows: Their positions in the pool.
            minutes: When a further run would be made.
            hypotheses: How many of the walkers tell, at most.
        """
        some = slice(None, None, max(WALKERS // hypotheses, 1))
        every, chosen, kernel = self._walkers[some], list(rows), self._kernel
        sizes, drift = every[:, KNOWN:], np.exp(2 * every[:, 2])
        prior = kernel.covariance(kernel.alike(chosen, chosen), sizes)
        across = kernel.covariance(kernel.alike(chosen, self._rows), sizes)
        alike = drift[:, None] * _alike_in_time(minutes, self._times)
        half = across @ np.swapaxes(self._white[some], 1, 2)
        now = (across + alike[:, None, :]) @ np.swapaxes(self._white[some], 1, 2)
        return Outlook(
            mean=self._offset + kernel.expected[chosen] + _by(across, self._solved[some]),
            covariance=prior - half @ np.swapaxes(half, 1, 2),
            across=prior - half @ np.swapaxes(now, 1, 2),
            shown=np.diagonal(prior, axis1=1, axis2=2) + drift[:, None] - (now**2).sum(-1),
            noise=self._sds(every, chosen) ** 2,
        )


def _alike_in_time(minutes: Matrix | float, times: Matrix) -> Matrix:
    found: Matrix = np.exp(-np.abs(minutes - times) / MINUTES)
    return found


def _whitening(signal: Matrix, errors: Matrix) -> Matrix:
    """Return W with W' W = (signal + errors)^-1 for each hypothesis.

    What is left of a large variance after many runs would be lost by rounding with the inverse.
    """
    lower = np.linalg.cholesky(signal + errors[:, :, None] * np.eye(errors.shape[1]))
    found: Matrix = np.linalg.inv(lower)
    return found


def _by(matrices: Matrix, vectors: Matrix) -> Matrix:
    found: Matrix = np.einsum("wij,wj->wi", matrices, vectors)
    return found
