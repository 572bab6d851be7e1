"""`autotune report`, and the files that it reads."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from autotune import autotune
from autotune.cli.saved import REPORT
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.errors import ConfigurationError
from autotune.options import SearchOptions
from autotune.reason import Message, Outcome
from autotune.result import Result
from autotune.result.html import page
from autotune.result.view import ResultView
from tests.engines.fake import FakeEngine

from .conftest import run

WRITTEN = datetime(2026, 3, 2, tzinfo=UTC)
DIGITS = Path(__file__).parents[3] / "examples" / "digits.py"


def speed(configuration: Configuration) -> float | Stop:
    if configuration.per_replica_batch >= 512:
        return Stop(
            outcome=Outcome.OUT_OF_MEMORY, reason=Message(text="it needs \u00e4 lot,\u2028 or more")
        )
    gain = 1.9 if configuration.strategy == "multi_worker_mirrored" else 1.0
    return 1000.0 * configuration.per_replica_batch**0.5 * gain


@pytest.fixture(scope="module")
def result() -> Result:
    """A gang that wins, with a certificate, a diagnosis and a failure."""
    engine = FakeEngine(speed, between=0.02)
    factories = f"{DIGITS}:model_fn", f"{DIGITS}:dataset_fn"
    options = SearchOptions(budget=None, max_trials=40)
    found = autotune(*factories, space="cpu", options=options, engine=engine)
    assert found.certificate
    assert found.diagnosis
    assert found.launch
    return found


def test_what_was_saved_is_read_back_without_loss(result: Result, tmp_path: Path) -> None:
    read = Result.load(result.save(tmp_path))
    assert read.model_dump() == result.model_dump()
    assert page(read, WRITTEN) == page(result, WRITTEN)
    assert Result.load(tmp_path / "result.json") == read


def test_a_factory_that_was_shipped_by_value_is_left_out(tmp_path: Path) -> None:
    """Nothing in the file is ever unpickled; its text is there."""
    options = SearchOptions(budget=None, max_trials=4)
    found = autotune(
        lambda: None, lambda: None, space="cpu", options=options, engine=FakeEngine(speed)
    )
    assert found.workload.model.pickled
    read = Result.load(found.save(tmp_path))
    assert not read.workload.model.pickled
    assert read.workload.model.source == found.workload.model.source
    assert page(read, WRITTEN) == page(found, WRITTEN)


def test_the_page_is_written_again(result: Result, tmp_path: Path) -> None:
    """Where the other files are; the command says so, and where there are none."""
    result.save(tmp_path)
    (tmp_path / REPORT).unlink()
    done = run("report", tmp_path)
    assert done.exit_code == 0, done.output
    assert REPORT in done.stderr
    text = " ".join((tmp_path / REPORT).read_text("utf-8").split())
    assert all(part in text for part in ResultView(result).headline)
    done = run("report", tmp_path / "nowhere")
    assert (done.exit_code, "cannot be read" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("result.json", "{", "cannot be parsed"),
        ("result.json", "[]", "is no saved result: "),
        ("result.json", '{"seed": 1}', "is no saved result: "),
        ("trials.jsonl", '{"number": "?"}\n', "trials"),
    ],
)
def test_a_damaged_result_is_told(
    result: Result, tmp_path: Path, name: str, text: str, told: str
) -> None:
    """With the place and the way out, whichever of its files is damaged."""
    result.save(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        Result.load(tmp_path)
