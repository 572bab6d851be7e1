"""How long a training is, by what its script or its user says."""

import pytest

from autotune.workload import FitFacts, WorkloadFacts, length_of, own_rate, why_assumed
from autotune.workload.facts import ASSUMED_SECONDS, Length, LengthSource
from tests.engines.fake import FAKE_FACTS


def of_script(**fit: object) -> WorkloadFacts:
    found = FitFacts.model_validate({"line": 9, "epochs": 20, **fit})
    return FAKE_FACTS.model_copy(update={"fit": found, "usual_batch": 50})


def test_a_script_tells_its_epochs() -> None:
    facts = of_script().model_copy(update={"between_seconds": 2.0, "own_step_seconds": 0.1})
    length = length_of(facts)
    assert (length.source, length.epochs, length.examples) == (LengthSource.SCRIPT, 20, 200_000)
    assert (length.seconds, length.between, length.at_most) == (None, 40.0, False)
    # 4,000 steps of 50 examples.
    assert length.seconds_at(own_rate(facts)) == pytest.approx(440.0)


def test_a_rate_that_nobody_knows_leaves_the_time_open() -> None:
    assert own_rate(of_script()) is None
    assert length_of(of_script()).seconds_at(None) is None
    assert Length().seconds_at(None) == ASSUMED_SECONDS


def test_what_stops_early_makes_the_epochs_an_upper_bound() -> None:
    assert length_of(of_script(epochs=1000, may_stop=True)).at_most
    assert length_of(of_script(epochs=1000, may_stop=True), epochs=30).at_most


def test_the_epochs_of_the_user_count_before_those_of_a_script() -> None:
    length = length_of(of_script(), epochs=3)
    assert (length.source, length.examples) == (LengthSource.EPOCHS, 30_000)
    assert length_of(FAKE_FACTS, epochs=3).examples == 30_000


@pytest.mark.parametrize("facts", [FAKE_FACTS, of_script(), of_script(loop=4)])
def test_the_time_of_the_user_counts_before_all_epochs(facts: WorkloadFacts) -> None:
    length = length_of(facts, epochs=3, train_for=21_600.0)
    assert (length.source, length.seconds, length.examples) == (
        LengthSource.TRAIN_FOR,
        21_600.0,
        None,
    )


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (FAKE_FACTS, "two functions do not tell"),
        (of_script(loop=4), "line 4 calls fit again and again"),
        (of_script(epochs=None), "the script does not tell"),
        (of_script().model_copy(update={"examples": None}), "how many examples an epoch has"),
    ],
)
def test_where_nothing_is_known_an_hour_is_assumed(facts: WorkloadFacts, why: str) -> None:
    assert length_of(facts) == Length(source=LengthSource.ASSUMED, seconds=ASSUMED_SECONDS)
    assert why in why_assumed(facts)


def test_all_calls_of_a_fit_in_a_loop_have_the_epochs_of_the_user() -> None:
    assert length_of(of_script(loop=4, epochs=1), epochs=40).examples == 400_000
