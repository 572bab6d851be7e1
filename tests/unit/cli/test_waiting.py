"""Commands while another search is timing on this machine."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.engine import lock as module
from autotune.engine.local import LocalEngine
from autotune.engine.lock import exclusive
from tests.engines.fake import FakeEngine

from .conftest import tune


@pytest.fixture(autouse=True)
def _held(tmp_path: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another search holds the machine, and the user soon loses patience."""
    monkeypatch.setattr(engine, "reserved", LocalEngine().reserved)
    monkeypatch.setattr(module, "PLACES", (tmp_path,))
    monkeypatch.setattr(module.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    with exclusive("theirs:model_fn", print):
        # The other search is in this thread only because that is quicker.
        monkeypatch.setattr(module, "_mine", threading.local())
        yield


def test_a_search_waits_and_says_so(engine: FakeEngine) -> None:
    """At once, on stderr; Ctrl-C ends the wait with the exit code of an interruption."""
    done = tune()
    assert done.exit_code == 130
    assert done.stdout == ""
    first, *_, second = done.stderr.splitlines()
    assert "theirs:model_fn) is running on this machine; waiting for it to finish." in first
    assert second == "Error: Interrupted while waiting for another search."
    assert not engine.requests


def test_a_dry_run_does_not_wait() -> None:
    assert tune("--dry-run").exit_code == 0
