"""Who is recommended while nothing is decided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.search.history import Observed
from autotune.search.likely import Likely
from autotune.search.surrogate import Belief
from autotune.trial import Stage

ALONE, MATCH = Configuration(), Configuration(per_replica_batch=64)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)
RUN, CERTIFYING = 5.0, 20.0


class Situation:
    """A search in which two replicas are a fifth faster than one device, at twice its batch.

    Args:
        match: log(score) of one device at that batch, which has not been tried.
        left: Seconds.
        held: Seconds that are kept for the profile.
    """

    def __init__(self, match: float = 4.0, left: float = 100.0, held: float = 0.0) -> None:
        self.left = left
        self.ran: list[Configuration] = []
        self.certified: list[Configuration] = []
        self.history = SimpleNamespace(costs=SimpleNamespace(seconds=lambda _: RUN))
        self._match, self._held = match, held

    def measured(self, *, distributed: bool, finals: bool) -> dict[Configuration, Observed]:
        """Return what all runs let expect."""
        assert finals
        alone = {c: Observed(self._match, 0.03) for c in self.ran}
        return {TWO: Observed(4.2, 0.03)} if distributed else {ALONE: Observed(4.0, 0.03), **alone}

    def of(self, _: list[Configuration], *, doubt: float) -> Belief:
        """Return that the model knows little of the batch."""
        assert doubt
        return Belief(np.array([4.0]), np.array([0.9]))

    def run(self, configuration: Configuration, stage: Stage) -> None:
        """Note a run."""
        assert stage is Stage.BASELINE
        self.ran.append(configuration)
        self.left -= RUN

    def take_held(self) -> None:
        """Give what was kept."""
        self.left, self._held = self.left + self._held, 0.0

    def certify(self, configuration: Configuration) -> None:
        """Note that one may win."""
        self.certified.append(configuration)

    def is_open(self, configuration: Configuration) -> bool:
        """Return whether that is not known."""
        return configuration not in self.certified

    def seconds(self, _: list[Configuration]) -> float:
        """Return what that takes."""
        return CERTIFYING

    @property
    def likely(self) -> Likely:
        """What is under test."""
        this = cast("Any", self)
        return Likely(
            this,
            this,
            this,
            this,
            right=list,
            unknown_match=lambda _: None if self.ran else MATCH,
            margin=0.03,
        )


def test_a_batch_that_was_not_tried_is_run_first() -> None:
    """What two replicas gain may come from the batch, and one run of one device tells."""
    situation = Situation()
    assert situation.likely.find() is None
    situation.likely.certify(lambda _: False)
    assert (situation.ran, situation.certified) == ([MATCH], [TWO])
    assert situation.likely.find() == TWO


def test_a_batch_that_makes_the_gain_speaks_against_it() -> None:
    """Then one device does as well."""
    situation = Situation(match=4.2)
    situation.likely.certify(lambda _: False)
    assert (situation.ran, situation.certified) == ([MATCH], [])


@pytest.mark.parametrize(
    ("left", "held", "ran", "certified"),
    [(29.0, 0.0, False, []), (29.0, 9.0, False, [TWO]), (26.0, 0.0, True, [TWO])],
)
def test_nothing_is_begun_that_cannot_be_ended(
    left: float,
    held: float,
    ran: bool,  # noqa: FBT001
    certified: list[Configuration],
) -> None:
    """The run of one device, certifying, and a run for a promise unless the finals had one."""
    situation = Situation(left=left, held=held)
    situation.likely.certify(lambda _: ran)
    assert situation.certified == certified
    assert bool(situation.ran) is bool(certified)
