"""What AUTOTUNE settled on is read out of the recommended program, after the verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autotune.autotuned_values import AutotunedValue, AutotunedValues
from autotune.config import Configuration
from autotune.diagnose.breakdown import Part
from autotune.engine.engine import Outcome, RunResult, TrialRequest, Watch
from autotune.owner import Owner
from autotune.reason import Message
from autotune.result import Result
from autotune.result.automatic import automatic_text
from autotune.space import parse_space
from autotune.testing import FAKE_AUTOMATIC, FAKE_FACTS, Ending, FakeEngine
from autotune.testing.fake import FAKE_MACHINE

from .conftest import speed

Tuner = Callable[..., Result]
LONG = {"budget": 300.0}


def test_it_is_read_once_and_last(tuner: Tuner) -> None:
    """One run of the recommended program, which is no trial, after all that is timed."""
    engine = FakeEngine(speed())
    result = tuner(speed(), engine=engine, options=LONG)
    readers = [each for each in engine.requests if each.reads_out]
    assert readers == engine.requests[-1:]
    assert readers[0].script == result.script
    assert result.automatic == FAKE_AUTOMATIC
    assert result.saved().automatic == FAKE_AUTOMATIC
    assert any(each.startswith("tf.data.AUTOTUNE chose") for each in result.reasons)


def test_it_can_be_left_out(tuner: Tuner) -> None:
    """Whoever wants every second for the search gets it."""
    engine = FakeEngine(speed())
    result = tuner(speed(), engine=engine, options={"diagnose": False})
    assert result.automatic is None
    assert not any(each.reads_out for each in engine.requests)


def test_it_keeps_to_the_budget(tuner: Tuner) -> None:
    """Without the time for it nothing is read and nothing claimed."""
    engine = FakeEngine(speed(), start=9.0)
    result = tuner(speed(), engine=engine, options={"budget": 60.0})
    assert engine.now() <= 62
    assert result.automatic is None
    assert not any("AUTOTUNE chose" in each for each in result.reasons)


@pytest.mark.parametrize("seconds", [60.0, 75.0, 90.0, 105.0, 120.0])
def test_what_limits_distribution_comes_before_it(tuner: Tuner, seconds: float) -> None:
    """It takes no time from the experiments without which nobody knows what an exchange takes."""
    truth = speed(distributed=0.5)
    engine = FakeEngine(truth, start=3.0)
    result = tuner(truth, engine=engine, options={"budget": seconds})
    assert result.diagnosis is not None
    assert result.diagnosis.distributed is not None
    if result.automatic is not None:
        assert result.diagnosis.distributed.told_apart(Part.EXCHANGE)


def test_a_run_that_fails_says_why(tuner: Tuner) -> None:
    """The recommendation stands, and tells that nothing was read."""

    class Fragile(FakeEngine):
        def run(self, request: TrialRequest, watch: Watch) -> RunResult:
            if request.reads_out:
                self._speed = lambda _: Ending(
                    outcome=Outcome.CRASHED, reason=Message(text="it died")
                )
            return super().run(request, watch)

    result = tuner(speed(), engine=Fragile(speed()), options=LONG)
    assert result.automatic is not None
    assert "it died" in result.automatic.why_not
    assert any("were not read" in each and "it died" in each for each in result.reasons)


def choice(**changes: object) -> AutotunedValue:
    return FAKE_AUTOMATIC.choices[0].model_copy(update=changes)


def sentence(*choices: AutotunedValue) -> str:
    return " ".join(automatic_text(AutotunedValues(choices=choices, seconds=3.0)))


def test_the_sentence_has_stage_number_and_unit() -> None:
    """And who can freeze what."""
    text = " ".join(automatic_text(FAKE_AUTOMATIC))
    assert "prefetch 2 batches, map 4 parallel calls inside dataset_fn (after 3.0 s" in text
    assert "--freeze-autotune" in text
    assert "only be fixed in your code" in text


def test_what_still_moves_is_told_with_its_course() -> None:
    """A buffer that grows until the end has not settled."""
    assert "Still changing: prefetch 2, then 4, then 8." in sentence(
        choice(value=8, readings=(2, 4, 8))
    )
    assert "Still changing" not in sentence(choice(readings=(1, 2, 2)))


def test_without_an_owner_nothing_can_be_frozen() -> None:
    """The sentence does not offer what would end in nothing."""
    assert "--freeze-autotune" not in sentence(choice(owner=Owner.TENSORFLOW))


def test_workers_that_agree_are_told_once() -> None:
    """Equal numbers of several workers are one."""
    text = sentence(choice(worker=0), choice(worker=1))
    assert text.count("prefetch 2 batches") == 1


def test_workers_that_differ_are_told_apart() -> None:
    """Each number has its worker; what they share has none."""
    shared = [choice(stage="ParallelMapV2", unit="parallel calls", worker=each) for each in (0, 1)]
    text = sentence(choice(value=16), choice(value=4, worker=1), *shared)
    assert "prefetch 16 batches in worker 0, prefetch 4 batches in worker 1, map 2" in text
    assert text.count("map 2 parallel calls") == 1


def test_nothing_is_read_where_nothing_is_automatic(tuner: Tuner) -> None:
    """A program with a number everywhere has nothing to tell."""
    space = parse_space(
        {"name": "fixed", "strategies": ["one_device"], "axes": {"prefetch": [0]}}, where="test"
    )
    engine = FakeEngine(lambda _: 100.0, facts=FAKE_FACTS, machine=FAKE_MACHINE)
    result = tuner(speed(), engine=engine, options=LONG, space=space)
    assert result.config == Configuration(prefetch=0)
    assert result.automatic is None


def test_a_single_one_has_a_singular_unit() -> None:
    """A count agrees with its noun."""
    assert "prefetch 1 batch (" in sentence(choice(value=1))
    assert "prefetch 2 batches (" in sentence(choice(value=2))
