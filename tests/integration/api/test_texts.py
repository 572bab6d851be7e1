"""What workloads say is kept by both databases, whatever it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.api.requests import JobRequest
from autotune.api.settings import Settings
from autotune.api.states import State
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work.messages import LONGEST_REASON
from autotune.api.work.worker import Worker


def test_a_workload_may_say_what_is_no_text(
    jobs: Jobs,
    asked: JobRequest,
    database: Database,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its job fails at once and tells why, instead of dying again and again."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    job = jobs.submit(asked, "me")
    engine = {"engine": "service_engines:unprintable"}
    assert Worker(database, settings.model_copy(update=engine)).run_one()
    ended = jobs.get(job.id, None)
    assert (ended.state, ended.attempt) == (State.FAILED, 1)
    assert ended.reason is not None
    assert ended.reason.startswith("The file caf?? is missing. xxx")
    assert len(ended.reason) <= LONGEST_REASON + 3
