"""Answers of a check, for people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autotune import Answer, Interval, Verdict, Verification
from autotune.cli.checks import verification_text
from autotune.config import Configuration
from autotune.testing import FAKE_MACHINE

Draw = Callable[..., str]
ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


@pytest.fixture
def found() -> Verification:
    """A recommendation that holds, on another machine than it was made on."""
    return Verification(
        answer=Answer.HOLDS,
        summary="Confirmed: distributed training is 1.42 times (1.21 to 1.66) as fast.",
        challenger=ALONE,
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
    nothing = {
        "challenger": None,
        "ratio": None,
        "examples_per_second": None,
        "ratio_to_expected": None,
    }
    text = draw(verification_text(found.model_copy(update=nothing)))
    for part in ("compared with", "ratio", "examples/s", "vs saved"):
        assert part not in text
