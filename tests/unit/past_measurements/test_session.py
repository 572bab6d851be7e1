"""What is kept of a search, and what several say together."""

from __future__ import annotations

import math

import pytest

from autotune.config import Configuration
from autotune.past_measurements import relative, scatter, session_of
from autotune.reason import Message, Outcome
from autotune.testing import FAKE_MACHINE
from autotune.trial import Stage, Trial

from .conftest import ALONE, LARGE, TWO, WORKLOAD, measured


def trial(
    configuration: Configuration, rate: float | None, outcome: Outcome = Outcome.MEASURED
) -> Trial:
    return Trial(
        number=0,
        stage=Stage.EXPLORE,
        configuration=configuration,
        outcome=outcome,
        reason=Message(text=""),
        examples_per_second=rate,
    )


def test_what_showed_a_speed_is_kept() -> None:
    """Measured trials, and pruned ones marked as such; failures have no speed."""
    trials = [
        trial(ALONE, 100.0),
        trial(TWO, 30.0, Outcome.PRUNED),
        trial(TWO, 50.0, Outcome.UNSTABLE),
        trial(LARGE, None, Outcome.CRASHED),
    ]
    kept = session_of(FAKE_MACHINE.fingerprint, WORKLOAD, trials)
    found = [(each.configuration, each.pruned) for each in kept.measured]
    assert found == [(ALONE, False), (TWO, True)]


def test_a_session_names_its_machine() -> None:
    """Two sessions of one search never have one name."""
    first, second = (
        session_of(FAKE_MACHINE.fingerprint, WORKLOAD, [trial(ALONE, 1.0)]) for _ in range(2)
    )
    assert first.id != second.id
    assert first.machine == FAKE_MACHINE.fingerprint


def test_scatter_comes_from_repeats_alone() -> None:
    """Without an expectation of it, because that is the next search's own."""
    repeats = [measured(ALONE, rate) for rate in (100.0, 100.0 * math.e**0.2)]
    noise = scatter([*repeats, measured(TWO, 7.0)])
    assert noise
    assert noise.degrees == 1
    assert noise.sd == pytest.approx(0.1 * math.sqrt(2))


def test_without_repeats_scatter_is_unknown() -> None:
    """One run of each says nothing of it."""
    assert scatter([measured(ALONE, 1.0), measured(TWO, 2.0)]) is None


def test_a_faster_day_does_not_count() -> None:
    """Two sessions that differ by a factor say the same of every configuration."""
    slow = [measured(ALONE, 50.0, "a"), measured(LARGE, 100.0, "a"), measured(TWO, 150.0, "a")]
    fast = [measured(LARGE, 300.0, "b"), measured(TWO, 450.0, "b")]
    found = relative([*slow, *fast])
    assert found == {
        ALONE: pytest.approx(math.log(0.5)),
        LARGE: pytest.approx(0.0),
        TWO: pytest.approx(math.log(1.5)),
    }


def test_sessions_are_averaged() -> None:
    """Each session counts once, however often it ran a configuration."""
    first = [measured(ALONE, 100.0, "a"), measured(TWO, 200.0, "a"), measured(TWO, 200.0, "a")]
    second = [measured(ALONE, 100.0, "b"), measured(TWO, 100.0, "b")]
    assert relative([*first, *second])[TWO] == pytest.approx(math.log(2) / 2)


def test_a_session_without_one_device_says_nothing() -> None:
    """There is nothing that it could be compared with; what was pruned is no baseline."""
    pruned = measured(ALONE, 1.0).model_copy(update={"pruned": True})
    assert relative([measured(TWO, 200.0), pruned]) == {}
    assert relative([]) == {}
