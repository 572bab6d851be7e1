"""A folder in which the commands of the pages can be run, on an engine that needs no machine."""

from pathlib import Path
from typing import Any

import pytest

from autotune.config import Configuration
from tests.engines.fake import FakeEngine
from tools.docs.pages import ROOT

FACTORIES = """\
def model_fn(units=1): ...
def dataset_fn(): ...
"""
SPACE = "strategies: [one_device, mirrored]\naxes: {replicas_per_worker: 2}\n"


def speed(configuration: Configuration) -> float:
    rate = 100 * configuration.per_replica_batch**0.5 * configuration.steps_per_execution**0.2
    return rate * 0.3 if configuration.distributed else rate


def new_engine(*_: Any) -> FakeEngine:
    # Trials that take long make a search short: its time is virtual.
    return FakeEngine(speed, start=5.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a checkout as far as the pages use it, and files of a user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "src").mkdir()
    (tmp_path / "train.py").write_text("import keras\n")
    (tmp_path / "my.py").write_text(FACTORIES)
    (tmp_path / "mine.yaml").write_text(SPACE)
    return tmp_path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.engine.resolve.new_engine", new_engine)
