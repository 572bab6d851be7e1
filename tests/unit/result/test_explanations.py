"""What is said of the memory, of a time step that nobody took apart, and of a changed script."""

import pytest

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.result.explanations import largest_batch

from .conftest import RESULT, changed, make_trial

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
