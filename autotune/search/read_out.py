"""Reads out what AUTOTUNE settles on in the recommended program, after everything is decided."""

from __future__ import annotations

from autotune.automatic import Automatic
from autotune.config import Configuration
from autotune.events import Observer, Preparing
from autotune.search.budget import Budget
from autotune.search.runner import Runner
from autotune.search.watches import MEASURE_SECONDS, READ_OUT_SECONDS
from autotune.strategies import strategy

SERVED = "With {title} the input is read by processes that cannot be inspected."


class ReadOut:
    """Makes one run of the recommended program that tells the numbers.

    Args:
        runner: Makes it.
        budget: Bounds it: without enough time it is left out.
        observer: Is told of it.
    """

    def __init__(self, runner: Runner, budget: Budget, observer: Observer) -> None:
        self._runner = runner
        self._budget = budget
        self._observer = observer

    def kept(self, configuration: Configuration, before: float) -> float:
        """Return the seconds that others should leave for this.

        Args:
            configuration: Whose numbers are wanted.
            before: Seconds of what tells more; without time for both there is no claim.
        """
        if not self._is_wanted(configuration):
            return 0.0
        seconds = self._seconds(configuration)
        return seconds if self._budget.left >= seconds + before else 0.0

    def run(self, configuration: Configuration) -> Automatic | None:
        """Return what was read; None without the time for it, or if there is nothing to read."""
        if not self._is_wanted(configuration):
            return None
        chosen = strategy(configuration.strategy)
        if chosen.asynchronous:
            return Automatic(why_not=SERVED.format(title=chosen.title))
        if self._budget.left < self._seconds(configuration):
            return None
        self._observer(Preparing(what="Reading the values chosen by tf.data.AUTOTUNE"))
        return self._runner.read_out(configuration)

    def _is_wanted(self, configuration: Configuration) -> bool:
        return configuration.prefetch == "auto" or self._runner.subject.facts.automatic

    def _seconds(self, configuration: Configuration) -> float:
        """Return how long such a run takes: a trial, with a longer time of steps."""
        costs = self._runner.history.costs
        return costs.seconds(configuration) + READ_OUT_SECONDS - MEASURE_SECONDS
