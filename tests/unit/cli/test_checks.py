"""Answers of a check and figures of a machine, for people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autotune import Answer, Interval, Verdict, Verification
from autotune.cli.checks import checkup_text, verification_text
from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.testing import FAKE_MACHINE, FakeEngine
from autotune.verification.aa_test import aa_test

Draw = Callable[..., str]
ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


@pytest.fixture
def found() -> Verification:
    """A recommendation that holds, on another machine than it was made on."""
    return Verification(
        answer=Answer.HOLDS,
        summary="Confirmed: distributed training is 1.42 times (1.21 to 1.66) as fast.",
        rival=ALONE,
        ratio=Interval(low=1.21, value=1.42, high=1.66),
        pairs=3,
        examples_per_second=Interval(low=1300, value=1425, high=1560),
        verdict=Verdict.DISTRIBUTE,
        configuration=PAIR,
        margin=0.03,
        expected=Interval(low=1400, value=1500, high=1600),
        ratio_to_expected=Interval(low=0.85, value=0.95, high=1.06),
        notes=("Measured on another machine: CPU cores 2 then, 4 now.",),
        machine=FAKE_MACHINE,
        seconds=31.0,
    )


@pytest.mark.parametrize("width", [60, 80])
def test_an_answer_comes_with_its_figures(found: Verification, draw: Draw, width: int) -> None:
    """The answer first, then both configurations, the figures, the notes; nothing too wide."""
    text = draw(verification_text(found), width)
    assert text.startswith("Confirmed: ")
    words = " ".join(text.split())
    for part in ("batch 2x64", "batch 128", "0.95 (0.85 to 1.06)", "CPU cores 2 then, 4 now"):
        assert part in words
    assert max(map(len, text.splitlines())) <= width


def test_an_answer_without_a_run_has_no_figures(found: Verification, draw: Draw) -> None:
    """What is not known is left out."""
    nothing = {"rival": None, "ratio": None, "examples_per_second": None, "ratio_to_expected": None}
    text = draw(verification_text(found.model_copy(update=nothing)))
    for part in ("compared with", "ratio", "examples/s", "vs saved"):
        assert part not in text


@pytest.mark.parametrize("shift", [1.0, 1.5])
def test_an_odd_machine_is_told(draw: Draw, shift: float) -> None:
    """An A/A ratio away from one is explained, and so is what other programs took."""
    checkup = aa_test(FakeEngine(lambda _: 1000.0))
    ratio = checkup.ratio
    moved = Interval(low=ratio.low * shift, value=ratio.value * shift, high=ratio.high * shift)
    load = Load(seconds=60.0, cores=2, busy=0.6, stolen=0.1, busiest="python (pid 7)")
    text = draw(checkup_text(checkup.model_copy(update={"ratio": moved, "other_load": load})), 80)
    words = " ".join(text.split())
    assert ("does not contain 1" in words) is (shift > 1)
    assert "0.6 of 2 cores, mostly python (pid 7)" in words
    assert max(map(len, text.splitlines())) <= 80
