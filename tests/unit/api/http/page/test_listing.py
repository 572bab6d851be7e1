"""The lists of jobs and of workers."""

import re

import pytest
from starlette.testclient import TestClient

from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.auth import NewKey
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import LeaseToken
from autotune.engine.lock import Wait
from autotune.events import Notice
from autotune.wire.jobs import Job, JobRequest


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
