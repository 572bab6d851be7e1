"""What is said of memory, epochs, a step that was not taken apart, and a changed script."""

import json
from typing import Any

import pytest

from autotune.checks.scaling import Diagnosis, Predicted
from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.result.explanations import largest_batch, target_lines
from autotune.stats.intervals import Interval
from autotune.text import parse_seconds, roughly

from .conftest import GANG, RESULT, changed, make_trial, step

GIB = 2.0**30


def test_memory_grows_with_the_batch() -> None:
    peaks = {32: 1.1 * GIB, 64: 1.2 * GIB, 128: 1.4 * GIB}
    assert largest_batch(peaks, 11 * GIB) == pytest.approx(3200, rel=0.01)


@pytest.mark.parametrize(
    "peaks", [{}, {32: GIB}, {32: GIB, 64: 1.05 * GIB}, {32: GIB, 64: 0.5 * GIB}]
)
def test_peaks_that_say_nothing_are_not_extrapolated(peaks: dict[int, float]) -> None:
    assert largest_batch(peaks, 11 * GIB) is None


@pytest.mark.parametrize("profile", [True, False])
def test_a_profile_for_which_no_time_was_left_is_told(*, profile: bool) -> None:
    """Only where one was asked for."""
    update = {"diagnosis": None, "options": SearchOptions(profile=profile)}
    told = RESULT.model_copy(update=update).reasons
    assert any("No time was left" in each for each in told) is profile


def test_slow_callbacks_and_accumulated_gradients_are_told() -> None:
    """Of the user's own settings, whose step of 32 examples takes 32 ms."""
    own = Configuration()
    mine = make_trial(0, own, callback_seconds=(("Logger", 0.02),))
    facts = changed().facts.model_copy(update={"accumulated_steps": 3})
    found = changed(trials=(mine,), configuration=own, facts=facts, told={"own": own}).reasons
    assert "Callbacks limit a step with your own settings: callback Logger: 20 of 32 ms." in found
    assert any(each.startswith("An update sees 3 batches") for each in found)


def test_what_a_changed_script_gains_is_told() -> None:
    found = changed(patch="a change", patch_notes=("It was not run: no time was left.",)).reasons
    assert "Your script with train.patch: It was not run: no time was left." in found


def predicted(hosts: int, seconds: float) -> Predicted:
    steps = Interval(low=0.9 * seconds, value=seconds, high=1.1 * seconds)
    return Predicted(hosts=hosts, seconds=steps, speedup=steps)


DIAGNOSIS = Diagnosis(
    one_device=step(GANG.on_one_device(), 64.0), predicted=(predicted(4, 0.128), predicted(8, 0.16))
)
"""By steps of 64 examples a worker, of which 4 machines make 2,000 a second, and 8 make 3,200."""


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ("2min", []),
        ("1min", ["4 machines are predicted to take 50 s (45 s to 55 s), at a price of 0.111;"]),
        ("35s", ["8 machines are predicted to take 31 s"]),
        ("10s", ["No number of machines is predicted to reach it: 8 come nearest, with 31 s"]),
    ],
)
def test_a_target_is_compared_with_what_is_predicted(asked: str, more: list[str]) -> None:
    """As recommended first, then on the fewest machines, then by how much nothing reaches it."""
    result = changed(
        options=SearchOptions(epoch_in=asked, price=2.0),
        trials=(make_trial(0), make_trial(1, GANG)),
        configuration=GANG,
        facts=changed().facts.model_copy(update={"examples": 100_000}),
        diagnosis=DIAGNOSIS,
    )
    first, *others = target_lines(result)
    now = "An epoch of 100,000 examples takes 1 min 40 s (1 min 31 s to 1 min 50 s) as recommended"
    assert first == f"{now}; {roughly(parse_seconds(asked))} were asked for."
    assert all(text in line for text, line in zip(more, others, strict=True))


def test_nothing_is_predicted_from_one_machine() -> None:
    facts = changed().facts.model_copy(update={"examples": 100_000})
    options = SearchOptions(epoch_in="1min")
    *_, last = target_lines(changed(options=options, facts=facts))
    assert "a search on at least two:" in last
    assert not [*target_lines(changed())]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (0.75, "take 0.75 s"),
        ({"validation": 0.5, "checkpoint": 0.25}, "take 0.75 s"),
        (0.0, None),
        (None, None),
    ],
)
def test_what_lies_between_epochs_is_told(found: Any, said: str | None) -> None:
    """Beside the epoch, with its share; a stored result may tell the two apart."""
    kept = json.loads(changed().model_dump_json()) | {"between": found}
    reasons = Result.model_validate_json(json.dumps(kept)).reasons
    lines = [each for each in reasons if each.startswith("After each epoch")]
    assert len(lines) == (said is not None)
    assert all(f"validation and checkpoints {said}: " in line for line in lines)
