"""The page of one job."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from starlette.testclient import TestClient

from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.values import JobOutcome, LeaseToken, WorkerInfo
from autotune.checks.certificate import Certificate, passed, see
from autotune.config import Configuration
from autotune.events import Notice, TrialEnded, TrialStarted
from autotune.reason import CheckKind, Message, Outcome as TrialOutcome
from autotune.result import Result
from autotune.trial import Stage, Trial
from autotune.wire.jobs import Job, State

HOSTILE = "<script>alert('x')</script> \"quoted\" & {{ 7*7 }}"


@pytest.fixture
def show(client: TestClient) -> Callable[[str], str]:
    def show(job_id: str) -> str:
        answer = client.get(f"/tunings/{job_id}")
        assert answer.status_code == 200, answer.text
        return answer.text

    return show


Show = Callable[[str], str]


def test_a_running_job_tells_its_phase_and_trial(
    show: Show, database: Database, measured: LeaseToken
) -> None:
    pair = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)
    began = TrialStarted(number=1, stage=Stage.EXPLORE, configuration=pair, elapsed=4.0)
    attempts.record(database, measured, AttemptReport(number=2, events=[began]))
    page = show(measured.job_id)
    assert "Searching for a distributed configuration that beats one device" in page
    assert re.search(r"Trial 1 since <time .*: Mirrored x2, batch 2x64", page)
    assert "one device, examples per second" in page
    assert 'class="part alone"' in page
    assert "<progress " in page


def test_a_job_tells_the_code_that_it_measured(
    show: Show, database: Database, job: Job, worker: WorkerInfo
) -> None:
    claimed = attempts.claim(database, worker, 600)
    assert claimed.job.code == "c0de"
    assert "c0de" in show(job.id)
    attempts.finish(database, claimed.token, JobOutcome(state=State.FAILED, code_changed=True))
    assert "c0de, edited while it was measured" in show(job.id)


def test_a_done_job_tells_the_verdict_and_the_program(
    client: TestClient, show: Show, done: Job
) -> None:
    page = show(done.id)
    for each in ("Stay on one device: ", "Run-to-run variation", "1.20", "1.10 to 1.30", "1,000"):
        assert each in page
    links = re.findall(rf'href="(/v1/tunings/{done.id}/[^"]+)"', page)
    assert len(links) == 5
    for name in ("config", "result", "script?part=train", "report"):
        assert f"/v1/tunings/{done.id}/{name}" in links
    assert {client.get(each).status_code for each in links} == {200}
    assert "data-stream" not in page
    assert 'id="cancel"' not in page
    assert programs_of(page) == ["print('trained')\n"]


def test_what_was_not_measured_stands_apart_with_its_reason(
    show: Show, database: Database, measured: LeaseToken, trial: Trial
) -> None:
    rates = {TrialOutcome.PRUNED: 10.0, TrialOutcome.CRASHED: None}
    for number, (outcome, rate) in enumerate(rates.items(), 1):
        changes = {"number": number, "outcome": outcome, "reason": Message(text=HOSTILE)}
        other = trial.model_copy(update={**changes, "examples_per_second": rate})
        ended = TrialEnded(trial=other.model_copy(update={"windows": ()}), elapsed=6.0)
        report = AttemptReport(number=number + 1, events=[ended], trial=other)
        attempts.record(database, measured, report)
    page = show(measured.job_id)
    section = page[page.index('id="endings"') : page.index('id="runs"')]
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in section
    assert "<script>alert" not in page
    assert "{{ 7*7 }}" in page
    assert all(each in section for each in rates)


def test_hostile_words_stay_words(
    show: Show,
    database: Database,
    measured: LeaseToken,
    conclude: Callable[[Result], Job],
    recommendation: Result,
) -> None:
    attempts.record(database, measured, AttemptReport(number=2, events=[Notice(text=HOSTILE)]))
    changes = {"script": HOSTILE, "launch": HOSTILE}
    changes["certificate"] = Certificate(
        checks=(passed(HOSTILE, see(CheckKind.OTHER_START, name=HOSTILE)),)
    )
    page = show(conclude(recommendation.model_copy(update=changes)).id)
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;") >= 3
    assert programs_of(page) == [HOSTILE, HOSTILE]


def test_a_failed_job_tells_why(show: Show, database: Database, token: LeaseToken) -> None:
    attempts.finish(database, token, JobOutcome(state=State.FAILED, reason="No digits are left."))
    page = show(token.job_id)
    assert "No digits are left." in page
    assert "No trial was run." in page
    assert "<progress" not in page
    assert 'class="badge failed"' in page


def programs_of(page: str) -> list[str]:
    shown = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    return [unescape(re.sub("<[^>]+>", "", each)) for each in shown]
