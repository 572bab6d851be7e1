"""The lists of jobs and of workers, the page of a job, and what holds for every page."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from autotune.api.http.page import pages
from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.auth import NewKey
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import JobOutcome, LeaseToken, WorkerInfo
from autotune.checks.certificate import Certificate, passed, see
from autotune.config import Configuration
from autotune.engine.lock import Wait
from autotune.events import Notice, TrialEnded, TrialStarted
from autotune.reason import CheckKind, Message, Outcome as TrialOutcome
from autotune.result import Result, html
from autotune.trial import Stage, Trial
from autotune.wire.jobs import Job, JobRequest, State


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def test_a_job_is_listed_with_its_verdict(client: TestClient, done: Job) -> None:
    page = client.get("/").text
    assert f'href="/tunings/{done.id}"' in page
    shown = text_of(page)
    for each in ("digits", "done", "filters=32", "space quick", "Stay on one device: "):
        assert each in shown
    assert "1.20\N{MULTIPLICATION SIGN} your settings" in shown


def test_the_list_goes_on_by_pages(browser: TestClient, jobs: Jobs, made: NewKey) -> None:
    for seed in range(25):
        jobs.submit(JobRequest(workload="digits", seed=seed), made.key.project)
    first = browser.get("/").text
    older = re.search('href="([^"]+)" rel="next"', first)
    second = browser.get(older[1].replace("&amp;", "&")).text
    found = [re.findall('href="/tunings/([0-9a-f]{24})"', page) for page in (first, second)]
    assert [len(each) for each in found] == [20, 5]
    assert len({*found[0], *found[1]}) == 25
    assert ">Newest<" in second


def test_a_narrowed_list_stays_so_on_its_other_pages(client: TestClient, done: Job) -> None:
    page = client.get("/?workload=digits&verdict=one+device&state=done").text
    assert done.id in page
    assert re.findall('aria-current="page">([^<]+)<', page) == ["Done", "digits", "One device"]
    assert 'href="/?state=failed&amp;workload=digits&amp;verdict=one+device"' in page
    for query in ("workload=other", "state=queued"):
        page = client.get(f"/?{query}").text
        assert done.id not in page
        assert "No such jobs." in page
    assert re.search('<a href="[^"]*state=queued" aria-current="page">Waiting</a>', page)


def test_only_a_list_that_will_change_is_looked_at_again(browser: TestClient) -> None:
    assert "data-poll" not in browser.get("/").text
    browser.post("/v1/tunings", json={"workload": "digits"})
    assert "data-poll" in browser.get("/").text


@pytest.mark.parametrize("query", ["state=odd", "before=x", "limit=0", "odd=1"])
def test_an_odd_address_is_told_as_a_page(browser: TestClient, query: str) -> None:
    answer = browser.get(f"/?{query}")
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/html")
    assert "Invalid request" in answer.text


@pytest.mark.usefixtures("worker")
def test_workers_are_shown(client: TestClient) -> None:
    page = client.get("/workers").text
    shown = text_of(page)
    for each in ("bench-1-1-a waits 2 CPU cores, ", "fast", "digits c0de"):
        assert each in shown
    assert "<b>H100" not in page
    assert "data-poll" in page
    assert 'href="/workers"' in client.get("/").text


def test_a_job_waits_for_its_machine(
    client: TestClient, database: Database, token: LeaseToken
) -> None:
    busy = Notice(text="Another search uses the machine", waiting=Wait(holder=None, until=2e9))
    attempts.record(database, token, AttemptReport(number=1, events=[busy]))
    shown = client.get(f"/tunings/{token.job_id}").text
    for each in (client.get("/").text, shown):
        assert 'class="badge waiting">waiting<' in each
    free = 'uses the machine; the machine is free at <time datetime="2033-05-18T03:33:20+00:00"'
    assert free in shown
    assert "begins when the machine is free" not in shown
    waits = client.get(f"/v1/tunings/{token.job_id}").json()["waiting"]
    assert waits["sentence"] == "Its search begins when the machine is free."


@pytest.mark.usefixtures("worker")
def test_a_job_that_waits_shows_its_place(client: TestClient, job: Job) -> None:
    waits = client.get(f"/v1/tunings/{job.id}").json()["waiting"]
    assert (waits["kind"], waits["before"], waits["sentence"]) == ("turn", 0, "It is next.")
    page = client.get(f"/tunings/{job.id}").text
    assert "It is next." in page
    assert "data-poll" in page


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


SHARED = Path(html.__file__).parent / "templates" / "fragments.html"
TEMPLATES = [*sorted(Path(pages.__file__).parent.glob("templates/*.html")), SHARED]
INLINE = re.compile(
    r"""<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe"""
    r"""|<script(?![^>]*\s(?:src=|type="application/json"))""",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_nothing_is_inline(path: Path) -> None:
    """No script, no handler, no style: the policy would refuse them; and nothing is unescaped."""
    assert not INLINE.search(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/sign-in",
        "/workers",
        "/tunings/{}",
        "/?state=odd",
        f"/tunings/{'0' * 24}",
    ],
)
def test_every_page_has_a_strict_policy_and_one_heading(
    client: TestClient, done: Job, path: str
) -> None:
    answer = client.get(path.format(done.id))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "form-action 'self'" in policy
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.count("<h1") == 1
    ids = re.findall(r'\sid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids))
