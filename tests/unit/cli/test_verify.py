"""`autotune verify` on the fake engine, on which one device is faster by a factor of three."""

import json
from pathlib import Path

import pytest

from autotune import Interval, Verdict, Verification, VerificationOutcome
from autotune.cli.saved import verification_text
from autotune.config import Configuration
from autotune.result.stored import SavedConfiguration, save_configuration
from autotune.versions import VERSION
from tests.answers import answer_of
from tests.drawing import draw
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from tests.trials import ended_trial
from tools.docs.samples import WORKLOAD

from .conftest import run

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)
TRIALS = tuple(ended_trial(n, configuration=c) for n, c in enumerate((ALONE, PAIR)))


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    """A recommendation that holds on the fake engine, and one that fails."""
    for verdict, winner in ((Verdict.ONE_DEVICE, ALONE), (Verdict.DISTRIBUTE, PAIR)):
        saved = SavedConfiguration(
            autotune=VERSION,
            configuration=winner,
            answer=answer_of(TRIALS, winner, ALONE),
            workload=WORKLOAD,
            facts=FAKE_FACTS,
            machine=FAKE_MACHINE,
        )
        facts = folder / f"{verdict.name.lower()}.json"
        facts.write_text(saved.model_dump_json())
        save_configuration(saved, facts.with_suffix(".yaml"), facts)


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        ("one_device.yaml", 0, "Confirmed: one device is "),
        ("distribute.yaml", 1, "Refuted: "),
    ],
)
def test_the_exit_code_is_the_answer(words: str, code: int, answer: str) -> None:
    """It is told on stdout alone, a line for each run on stderr."""
    done = run("verify", *words.split())
    assert done.exit_code == code
    assert done.stdout.startswith(answer)
    assert "measured" in done.stderr
    assert "measured" not in done.stdout


def test_json_is_one_document_alone_on_stdout() -> None:
    done = run("verify", "distribute.yaml", "--json")
    read = json.loads(done.stdout)
    assert done.exit_code == 1
    assert read["outcome"] == "fails"
    assert read["ratio"]["high"] < 1
    assert read["answer"]["verdict"] == "one device"
    assert "windows" not in read["trials"][0]


@pytest.mark.parametrize(
    "words", [("nosuch.yaml",), ("mine.py",), (), ("x.yaml", "--seconds", "0")]
)
def test_a_wrong_call_ends_with_two(engine: FakeEngine, words: tuple[str, ...]) -> None:
    assert run("verify", *words).exit_code == 2
    assert engine.requests == []


FOUND = Verification(
    outcome=VerificationOutcome.HOLDS,
    answer=answer_of(TRIALS, PAIR, ALONE),
    summary="Confirmed: distributed training is 1.42 times (1.21 to 1.66) as fast.",
    challenger=ALONE,
    ratio=Interval(low=1.21, value=1.42, high=1.66),
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
"""A recommendation that holds, on another machine than it was made on."""


@pytest.mark.parametrize("width", [60, 80])
def test_an_answer_comes_with_its_figures(width: int) -> None:
    """The answer first, then both configurations, the figures, the notes; nothing too wide."""
    text = draw(verification_text(FOUND), width)
    assert text.startswith("Confirmed: ")
    words = " ".join(text.split())
    for part in ("batch 2x64", "batch 128", "0.95 (0.85 to 1.06)", "CPU cores 2 then, 4 now"):
        assert part in words
    assert max(map(len, text.splitlines())) <= width


def test_an_answer_without_a_run_has_no_figures() -> None:
    """What is not known is left out."""
    known = ("challenger", "ratio", "examples_per_second", "ratio_to_expected")
    nothing = dict.fromkeys(known)
    text = draw(verification_text(FOUND.model_copy(update=nothing)))
    for part in ("compared with", "ratio", "examples/s", "vs saved"):
        assert part not in text
