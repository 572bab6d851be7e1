"""What a result is in a console and in a notebook."""

from pathlib import Path

import pytest

from autotune import autotune
from tests.engines.fake import FakeEngine

NOTEBOOK = 4096
"""Bytes that a notebook may keep beside what it shows."""
LARGE = bytes(range(256)) * 20_000


def factory() -> object:
    data = LARGE
    return lambda: data


def test_a_result_is_printed_as_the_command_prints_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer and what changes, and nothing of the pickled functions."""
    monkeypatch.chdir(tmp_path)
    engine = FakeEngine(lambda c: 600.0 if c.distributed else 1000.0)
    result = autotune(factory(), factory(), space="quick", max_trials=6, engine=engine)
    assert str(result) == repr(result)
    assert str(result).split()[: len(result.summary.split())] == result.summary.split()
    assert "steps_per_execution  1  -> 8" in str(result)
    assert len(str(result).encode()) < NOTEBOOK
    assert len(repr(result.workload)) < NOTEBOOK
    assert len(repr(result.saved().workload.dataset)) < NOTEBOOK
