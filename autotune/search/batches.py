"""Which global batches may be recommended: the user's own, and any other that surely pays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result.batches import Gain, arms_of, compared_batches, gain, own_arm, rows
from autotune.result.leaderboard import NOTHING, Entry, Leaderboard
from autotune.search.runner import Runner
from autotune.stats import Interval
from autotune.strategies import update_batch


class OtherBatches:
    """Compares other batches with the user's own, all other settings being equal.

    Args:
        runner: Has made the trials, and knows what an example teaches at each batch.
        pool: All configurations that can run.
    """

    def __init__(self, runner: Runner, pool: Collection[Configuration]) -> None:
        self._runner = runner
        self._pool = frozenset(pool)

    def settle(self, measure: Callable[[Configuration], bool]) -> None:
        """Compare the leading configuration of each batch that leads, and admit what pays.

        Args:
            measure: Runs a configuration to its end, if there is time; returns whether it did.
        """
        if self._runner.subject.facts.learning is None:
            return
        while (missing := self._missing()) and measure(missing):
            pass
        shown = self.shown()
        leading = self._leading()
        found = {update_batch(c): self._gain(c, shown) for c in leading}
        paying = {batch for batch, each in found.items() if each and each.progress.low > 1}
        self._runner.history.admitted = lambda c: self._is_own(c) or update_batch(c) in paying

    def pays(self, configuration: Configuration, shown: Mapping[Configuration, Entry]) -> bool:
        """Return whether a configuration has the own batch, or one that surely pays.

        Args:
            configuration: Measured.
            shown: The row of each configuration.
        """
        if self._is_own(configuration):
            return True
        found = self._gain(configuration, shown)
        return found is not None and found.pays

    def _gain(
        self, configuration: Configuration, shown: Mapping[Configuration, Entry]
    ) -> Gain | None:
        learning = self._runner.subject.facts.learning
        if learning is None:
            return None
        arms = arms_of(configuration, shown, learning.batch)
        if arms is None and own_arm(configuration, learning.batch) not in self._pool:
            # The own batch cannot be divided among these replicas: one device tells.
            arms = compared_batches(shown, learning.batch).get(update_batch(configuration))
        return arms and gain(arms, learning)

    def missing_arm(self, configuration: Configuration) -> Configuration | None:
        """Return the same settings at the own batch, if they can run and did not to their end."""
        learning = self._runner.subject.facts.learning
        if learning is None or self._is_own(configuration):
            return None
        arm = own_arm(configuration, learning.batch)
        return arm if arm in self._pool and arm not in self._ended() else None

    def measured_arm(self, configuration: Configuration) -> Configuration | None:
        """Return the same settings at the own batch, if they were measured and that is another."""
        learning, history = self._runner.subject.facts.learning, self._runner.history
        if learning is None or self._is_own(configuration):
            return None
        arm = own_arm(configuration, learning.batch)
        return arm if history.scores(arm) else None

    def _ended(self) -> set[Configuration]:
        """Return what was tried, but for what was stopped because others are faster."""
        history = self._runner.history
        stopped = {t.configuration for t in history.trials if t.outcome is Outcome.PRUNED}
        measured = {t.configuration for t in history.trials if t.measured}
        return history.tried - (stopped - measured)

    def keep_own(self) -> None:
        """Admit no batch but the own."""
        self._runner.history.admitted = self._is_own

    def shown(
        self,
        baseline: Configuration | None = None,
        known: Mapping[Configuration, Interval] = NOTHING,
    ) -> Mapping[Configuration, Entry]:
        """Return the row of each configuration, as the table of the result shows it.

        Args:
            baseline: The best single device, once it is chosen.
            known: Throughputs that the finals have settled.
        """
        return rows(self.board(baseline, known).rows())

    def board(
        self,
        baseline: Configuration | None = None,
        known: Mapping[Configuration, Interval] = NOTHING,
    ) -> Leaderboard:
        """Return the table of the result; as `shown`."""
        runner = self._runner
        return Leaderboard(runner.history.trials, baseline, known, score=runner.subject.scorer)

    def _is_own(self, configuration: Configuration) -> bool:
        learning = self._runner.subject.facts.learning
        return learning is None or update_batch(configuration) == learning.batch

    def _missing(self) -> Configuration | None:
        """Return what is to be run so that a leading batch can be compared."""
        return next(filter(None, map(self.missing_arm, self._leading())), None)

    def _leading(self) -> list[Configuration]:
        """Return the best of each other batch, on one device and on several.

        Only where it is better than all of its kind with the own batch.
        """
        found: dict[tuple[bool, int], Configuration] = {}
        for several in (False, True):
            ranked = self._runner.history.measured(distributed=several)
            for each in itertools.takewhile(lambda c: not self._is_own(c), ranked):
                found.setdefault((several, update_batch(each)), each)
        return list(found.values())
