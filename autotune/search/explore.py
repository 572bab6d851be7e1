"""Tries configurations until no more is to be gained or time is up, one device first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from autotune.config import Configuration
from autotune.errors import NothingMeasured
from autotune.reason import BudgetEnded, Outcome, Reason
from autotune.reason.sentences import reason_text
from autotune.search.bounds import Bounds, Dominance
from autotune.search.design import (
    groups,
    one_factor_at_a_time,
    openers,
    placement,
    uncrowded,
)
from autotune.search.history import History
from autotune.search.runner import Runner
from autotune.search.sampler import Sampler
from autotune.search.screening import SHARE, affordable, process_for, walk
from autotune.search.stopping import Budget
from autotune.search.surrogate import Expectations
from autotune.text import at_least
from autotune.trial import Stage

CHOICE = 2000
"""Configurations that are weighed against each other at a time; of a larger space that many are
drawn anew each time."""

NEAREST = 2000
"""Configurations among which the nearest to a wish is looked for."""
SLOW = 2.0
"""The first trials after the default may take so many times as long as it."""
AFTER_SCREENING = 0.6
"""Of the time for one device, what is left to it where a screening has shown where to look."""
HOPELESS = 3
"""So many failures before any success end the search: the cause is the workload, not a setting."""

Share = Callable[[], float]
"""Tells a share, which may change as more is known."""
WHOLE: Share = lambda: 1.0  # noqa: E731 - typed


class Explorer:
    """Chooses and makes the trials before the finals.

    Args:
        runner: Makes them.
        budget: Bounds them.
        sampler: Proposes what to try.
        expectations: Of what was measured; tell when a trial is stopped early.
        bounds: Prove that some cannot win; None where their proofs do not hold.
        reserve: Tells the seconds that are kept for what comes after exploration.
        seed: Of the draws from a large space.
    """

    def __init__(  # noqa: PLR0913 - each comes from another part
        self,
        runner: Runner,
        budget: Budget,
        sampler: Sampler,
        expectations: Expectations,
        bounds: Bounds | None,
        reserve: Callable[[], float],
        *,
        seed: int,
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._sampler = sampler
        self._expectations = expectations
        self._bounds = bounds
        self._reserve = reserve
        self._random = random.Random(seed)  # noqa: S311 - a sample, no secret

    @property
    def history(self) -> History:
        """Everything measured so far."""
        return self._runner.history

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self._budget.elapsed

    def try_all(
        self,
        wanted: Iterable[Configuration],
        *,
        share: Share = WHOLE,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Try configurations in order, each once, while the budget lasts.

        Args:
            wanted: Which.
            share: Tells of what exploring may take in all how much may be spent at the end.
            until: Asked before each and after the last; ends it when true.
        """
        for configuration in wanted:
            if until():
                return
            if configuration in self.history.tried:
                continue
            # What need not be run takes no time.
            if self._why_not(configuration) or self._affordable([configuration], share):
                self._try(configuration)
        until()

    def measure(self, configuration: Configuration) -> bool:
        """Run a configuration to its end if there is time, slower or not; return whether it ran."""
        fits = not self._why_not(configuration) and self._affordable([configuration], WHOLE)
        if fits:
            self._runner.run(configuration, _stage(configuration))
        return bool(fits)

    def propose_from(self, pool: Sequence[Configuration], *, share: Share = WHOLE) -> None:
        """Try what promises most for its time, until little is promised or time is up.

        Args:
            pool: The choice.
            share: Tells of what exploring may take in all how much may be spent at the end.
        """
        left = list(pool)
        while untried := self._affordable(self._untried(left), share):
            choice = self._some(uncrowded(untried, self._ran()))
            chosen = self._sampler.propose(self.history, choice)
            if chosen is None:
                return
            if not self._try(chosen):
                # What excludes one excludes many; they are not proposed one after the other.
                left = [each for each in left if self._why_not(each) is None]

    def open_among(self, pool: Iterable[Configuration]) -> Iterator[Configuration]:
        """Yield those that were neither tried nor excluded by what is known."""
        tried = self.history.tried
        return (each for each in pool if each not in tried and self._why_not(each) is None)

    def screen(
        self,
        start: Configuration,
        pool: Sequence[Configuration],
        then: Sequence[Configuration],
    ) -> list[Configuration]:
        """Look at settings that can share a process, where that pays.

        Args:
            start: The process is one for this configuration.
            pool: The choice.
            then: Trials that must still fit.

        Returns:
            Those that were seen; none where it does not pay or the engine does not offer it.
        """
        costs, shared = self.history.costs, process_for(start)
        if shared is None or self._why_not(start):
            return []
        mine = [each for each in self._untried(pool) if process_for(each) == shared]
        most = self._most() - costs.total(then)
        count = affordable(most, costs.seconds(start), costs.start(start), len(mine))
        if not count:
            return []
        order = walk(start, mine, count, self._random)
        screening = self._runner.screen(order, SHARE * most)
        return [] if screening is None else [each for each, _ in screening.figures]

    def try_best(self, seen: Sequence[Configuration]) -> None:
        """Try the one of which most is expected, and which is not excluded."""
        belief = self._expectations.of(seen)
        if belief is not None:
            self.try_all([seen[int(belief.mean.argmax())]])

    def _why_not(self, configuration: Configuration) -> Reason | None:
        """Return why a configuration need not be run, or None if it should."""
        failed = self._runner.why_impossible(configuration) or Dominance(
            self.history.trials
        ).why_not(configuration)
        if failed or self._bounds is None:
            return failed
        return self._bounds.why_not(configuration)

    def _ran(self) -> Iterator[Configuration]:
        trials = self.history.trials
        return (t.configuration for t in trials if t.outcome is not Outcome.SKIPPED)

    def _untried(self, pool: Sequence[Configuration]) -> list[Configuration]:
        tried, dominance = self.history.tried, Dominance(self.history.trials)
        return [c for c in pool if c not in tried and not dominance.why_not(c)]

    def _some(self, untried: list[Configuration]) -> list[Configuration]:
        return untried if len(untried) <= CHOICE else self._random.sample(untried, CHOICE)

    def _try(self, configuration: Configuration) -> bool:
        """Run a configuration, or keep the reason why it need not be run; return which it was."""
        stage = _stage(configuration)
        reason = self._why_not(configuration)
        if reason:
            self._runner.skip(configuration, stage, reason)
        else:
            self._runner.run(configuration, stage, reference=self._expectations.reference())
        return reason is None

    def _affordable(
        self, configurations: Sequence[Configuration], share: Share
    ) -> list[Configuration]:
        """Return those whose trial still fits; one with slow steps may be too long."""
        costs, most = self.history.costs, self._most(share)
        return [c for c in configurations if costs.seconds(c) <= most]

    def _most(self, share: Share = WHOLE) -> float:
        """Return the seconds that another trial may take."""
        return self._budget.most(len(self.history), share=share(), reserve=self._reserve())


def _stage(configuration: Configuration) -> Stage:
    return Stage.EXPLORE if configuration.distributed else Stage.BASELINE


def begin(explorer: Explorer, default: Configuration, pool: Sequence[Configuration]) -> None:
    """Measure the user's own configuration, or the next one on one device that works.

    Args:
        explorer: Makes the trials.
        default: The own one.
        pool: All on one device.

    Raises:
        NothingMeasured: The first few all failed, or the budget ended before one was measured.
    """
    earlier = len(explorer.history.trials)
    explorer.try_all(one_factor_at_a_time(default, pool), until=lambda: _works(explorer, earlier))
    if explorer.history.baseline is None:
        raise _nothing(explorer, earlier)


def find_baseline(
    explorer: Explorer,
    default: Configuration,
    pool: Sequence[Configuration],
    then: Sequence[Configuration],
    *,
    share: Share,
) -> None:
    """Try single-device configurations, the default first.

    Args:
        explorer: Makes the trials.
        default: What Keras does by itself.
        pool: All on one device.
        then: Trials that must fit afterwards.
        share: Tells of what exploring may take in all how much may be spent here, once a trial has
            shown what one takes.

    Raises:
        NothingMeasured: The first few all failed, or the budget ended before one was measured.
    """
    begin(explorer, default, pool)
    if seen := explorer.screen(default, pool, [default, *then]):
        explorer.try_best(seen)
        explorer.propose_from(pool, share=lambda: AFTER_SCREENING * share())
    else:
        # Where time is short, the largest step tells most, and comes before any other strategy.
        largest, *others = groups(default, _quick(explorer, default, pool))
        explorer.try_all([largest])
        explorer.try_all(others, share=share)
        explorer.propose_from(pool, share=share)


def open_strategies(
    explorer: Explorer, first: Sequence[Configuration], pool: Sequence[Configuration]
) -> None:
    """Try one configuration of each strategy: the best that was seen, or the most usual.

    Args:
        explorer: Makes the trials.
        first: The most usual of each.
        pool: All distributed.
    """
    for number, opener in enumerate(first):
        explorer.screen(opener, pool, first[number:])
        if explorer.history.screenings:
            explorer.try_best([each for each in pool if placement(each) == placement(opener)])
        else:
            explorer.try_all([opener])


def find_challenger(explorer: Explorer, pool: Sequence[Configuration], *, divided: bool) -> bool:
    """Try more distributed configurations, where those that ran have shown nothing.

    Little is expected of what is like them then, but without a challenger nothing is decided.

    Args:
        explorer: Makes the trials.
        pool: All distributed.
        divided: As for `openers`.

    Returns:
        Whether one was measured, and none before.
    """
    history = explorer.history
    for attempt in range(HOPELESS):
        baseline = history.baseline
        if baseline is None or history.ranked(distributed=True):
            return attempt > 0
        left = [*explorer.open_among(pool)]
        explorer.try_all(openers(baseline, left, divided=divided))
    return bool(history.ranked(distributed=True))


def _quick(
    explorer: Explorer, default: Configuration, pool: Sequence[Configuration]
) -> list[Configuration]:
    """Return what takes not much longer than the default: a huge call of slow steps would."""
    costs = explorer.history.costs
    most = SLOW * costs.seconds(default)
    quick = [each for each in pool if costs.seconds(each) <= most] or [default]
    # Of a large space every so many do as well.
    return quick[:: 1 + len(quick) // NEAREST]


def _works(explorer: Explorer, earlier: int) -> bool:
    """Return whether one device could be measured.

    Args:
        explorer: Made the trials.
        earlier: How many trials are those of earlier sessions.
    """
    trials = explorer.history.trials
    if explorer.history.baseline is not None:
        return True
    ran = [t for t in trials[earlier:] if t.outcome is not Outcome.SKIPPED]
    if len(ran) >= HOPELESS:
        raise _nothing(explorer, earlier)
    return False


def _nothing(explorer: Explorer, earlier: int) -> NothingMeasured:
    trials = explorer.history.trials
    failed = [
        t
        for t in (*trials[earlier:], *trials[:earlier])
        if t.stage is Stage.BASELINE and not t.measured and not isinstance(t.reason, BudgetEnded)
    ]
    if not failed:
        ended = next(
            (t.reason for t in reversed(trials) if isinstance(t.reason, BudgetEnded)), None
        )
        where = reason_text(ended or BudgetEnded()).removeprefix("the budget ran out ")
        return NothingMeasured(
            f"Nothing was measured: the budget ran out {where} (your own configuration).",
            f"Use a budget of {at_least(2 * explorer.elapsed)} or more (--budget).",
        )
    first = failed[0]
    return NothingMeasured(
        f"No single-device configuration could be measured; the first one {first.outcome.verb}: "
        f"{reason_text(first.reason).rstrip('.')}.",
        "Fix this and try again.",
    )
