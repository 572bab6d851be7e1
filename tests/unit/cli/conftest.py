"""The command line on the fake engine, in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from autotune.cli import app
from autotune.config import Configuration
from autotune.face import Face, shown_by
from tests.engines.fake import FakeEngine

FACTORIES = "def model_fn(units=1): ...\ndef dataset_fn(): ...\n"


def speed(configuration: Configuration) -> float:
    """One device is the fastest, and a larger batch helps."""
    rate = 100 * configuration.per_replica_batch**0.5
    return rate * 0.3 if configuration.distributed else rate


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FACTORIES)
    return tmp_path


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine(speed)
    monkeypatch.setattr("autotune.engine.resolve.new_engine", lambda *_: fake)
    return fake


@pytest.fixture(autouse=True)
def _face() -> Iterator[None]:
    """What is called without the command's entry is called on its behalf."""
    with shown_by(Face.COMMAND):
        yield


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def tune(*arguments: object) -> Result:
    call = ("tune", "mine.py:model_fn", "mine.py:dataset_fn", "--space", "quick")
    return run(*call, "--budget", "20s", *arguments)
