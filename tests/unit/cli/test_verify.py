"""`autotune verify` on the fake engine, on which one device is faster by a factor of three."""

import json
from pathlib import Path

import pytest

from autotune import Verdict
from autotune.config import Configuration
from autotune.result.stored import SavedConfiguration, save_configuration
from autotune.versions import VERSION
from tests.answers import answer_of
from tests.engines.fake import FAKE_FACTS, FakeEngine, fake_machine
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
            machine=fake_machine(cpus=4),
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


@pytest.mark.parametrize("width", [60, 80])
def test_an_answer_comes_with_its_figures(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """The answer first, then both configurations, the figures, the notes; nothing too wide."""
    monkeypatch.setenv("COLUMNS", str(width))
    text = run("verify", "one_device.yaml").stdout
    assert text.startswith("Confirmed: ")
    words = " ".join(text.split())
    for part in ("batch 128 (one device)", "compared with Mirrored x2, batch 2x64", "ratio"):
        assert part in words
    for part in ("examples/s", "vs saved", "CPU cores 4 then, 2 now", "runs in"):
        assert part in words
    assert max(map(len, text.splitlines())) <= width


def test_an_answer_without_a_rival_has_no_ratio(folder: Path) -> None:
    """What is not known is left out."""
    path = folder / "one_device.json"
    saved = SavedConfiguration.model_validate_json(path.read_text(), extra="ignore")
    answer = saved.answer.model_copy(update={"several": None, "own": ALONE, "one_device": ALONE})
    path.write_text(saved.model_copy(update={"answer": answer}).model_dump_json())
    words = " ".join(run("verify", "one_device.yaml").stdout.split())
    assert "examples/s" in words
    assert "compared with" not in words
    assert " ratio " not in words
