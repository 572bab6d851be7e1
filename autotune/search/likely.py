"""Who is recommended while nothing is decided: staying on one device may be wrong as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from autotune.config import Configuration
from autotune.search.certification import Certification
from autotune.search.coverage import expected_of
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.surrogate import Expectations
from autotune.trial import Stage

LIKELY = 0.5
"""Standard errors by which a distributed configuration that is recommended without a verdict has to
exceed one device and the margin."""


class Likely:
    """Finds who is probably faster than any single device, and whether it may be recommended.

    Args:
        runner: Makes the runs that are missing.
        budget: Bounds them.
        certification: Says who may be recommended.
        expectations: What all runs together let expect.
        right: Returns those of some configurations that may win.
        unknown_match: Returns the single device at the global batch of a configuration, if it has
            not been tried.
        margin: A gain below this share is not worth the trouble.
    """

    def __init__(  # noqa: PLR0913 - each comes from another part
        self,
        runner: Runner,
        budget: Budget,
        certification: Certification,
        expectations: Expectations,
        *,
        right: Callable[[Iterable[Configuration]], list[Configuration]],
        unknown_match: Callable[[Configuration], Configuration | None],
        margin: float,
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._certification = certification
        self._expectations = expectations
        self._right = right
        self._unknown_match = unknown_match
        self._needed = math.log1p(margin)

    def find(self, *, matched: bool = True) -> Configuration | None:
        """Return who is probably faster than any single device by the margin, by all runs.

        Args:
            matched: Whether also than one device at its global batch that was not tried: what it
                gains may come from its larger batch.
        """
        best = self._fastest()
        alone, many = (
            self._expectations.measured(distributed=each, finals=True) for each in (False, True)
        )
        if not alone or not best:
            return None
        rivals = [max(alone.values(), key=lambda seen: seen.log_score)]
        if matched and (match := self._unknown_match(best)):
            rivals.append(expected_of(self._expectations, match))
        mine = many[best]
        sure = (
            mine.log_score - self._needed - each.log_score > LIKELY * math.hypot(mine.sd, each.sd)
            for each in rivals
        )
        return best if all(sure) else None

    def certify(self, ran: Callable[[Configuration], bool]) -> None:
        """Make the runs that it needs to be recommended, if time is left for all of them.

        If need be with what is kept for the profile: what may be recommended is worth more than a
        diagnosis of what may not.

        Args:
            ran: Whether a configuration ran in the finals, and need not run for a promise.
        """
        leading = self.find(matched=False)
        match = self._unknown_match(leading) if leading else None
        if leading and match:
            needed = self._runner.history.costs.seconds(match)
            if self._affords(needed + self._lacking(leading, ran)):
                self._runner.run(match, Stage.BASELINE)
        likely = self.find()
        open_ = likely is not None and self._certification.is_open(likely)
        if likely and open_ and self._affords(self._lacking(likely, ran)):
            self._certification.certify(likely)

    def _fastest(self) -> Configuration | None:
        many = self._expectations.measured(distributed=True, finals=True)
        return max(self._right(many), key=lambda each: many[each].log_score, default=None)

    def _lacking(self, configuration: Configuration, ran: Callable[[Configuration], bool]) -> float:
        """Return the seconds that certifying a configuration takes, and its run for a promise."""
        certification = self._certification
        open_ = certification.is_open(configuration)
        seconds = certification.seconds([configuration]) if open_ else 0.0
        costs = self._runner.history.costs
        return seconds + (0.0 if ran(configuration) else costs.seconds(configuration))

    def _affords(self, seconds: float) -> bool:
        if seconds > self._budget.left:
            self._budget.take_held()
        return seconds <= self._budget.left
