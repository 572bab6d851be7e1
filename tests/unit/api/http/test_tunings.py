"""Asking for jobs, following and ending them."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import LeaseToken
from autotune.events import Notice
from autotune.wire.jobs import Job, State

SPACE = {"strategies": ["one_device"], "axes": {"per_replica_batch": [8, 16]}}


def test_a_job_is_taken_in(client: TestClient, jobs: Jobs) -> None:
    call = {"workload": "digits", "params": {"filters": 1}, "space": SPACE, "budget": "90s"}
    made = client.post("/v1/tunings", json=call)
    assert made.status_code == 202, made.text
    assert made.headers["location"] == made.json()["url"]
    shown = client.get(made.headers["location"]).json()
    assert shown == made.json()
    assert (shown["budget"], shown["state"]) == (90, "queued")
    assert not {"seq", "devices", "request"} & set(shown)
    job = jobs.get(shown["id"], None)
    assert (job.params, job.project) == ({"filters": 1}, shown["project"])


def test_an_idempotency_key_makes_one_job(client: TestClient) -> None:
    """The same call is answered with the same job, another one with the same key is refused."""
    key = {"Idempotency-Key": "once"}
    first, second = (
        client.post("/v1/tunings", json={"workload": "digits"}, headers=key) for _ in range(2)
    )
    assert first.json()["id"] == second.json()["id"]
    other = client.post("/v1/tunings", json={"workload": "lstm"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")


def test_a_job_that_waits_is_cancelled_once(client: TestClient, job: Job) -> None:
    for _ in range(2):
        ended = client.post(f"/v1/tunings/{job.id}/cancel")
        assert (ended.status_code, ended.json()["state"]) == (202, "cancelled")
    assert "cancelled. Ask for it again" in ended.json()["reason"]
    shown = events_of(client.get(f"/v1/tunings/{job.id}/events").text)
    assert [each["event"] for each in shown] == ["queued", "cancelling", "ended"]


def test_what_is_done_cannot_be_cancelled(client: TestClient, done: Job) -> None:
    refused = client.post(f"/v1/tunings/{done.id}/cancel")
    assert (refused.status_code, refused.json()["code"]) == (409, "illegal-transition")
    assert refused.json()["detail"] == "A job that is done cannot become cancelling."


def test_trials_come_without_what_they_printed(client: TestClient, measured: LeaseToken) -> None:
    path = f"/v1/tunings/{measured.job_id}/trials"
    answer = client.get(path)
    (shown,) = answer.json()["trials"]
    found = {"outcome": "measured", "examples_per_second": 1000.0, "global_batch": 128}
    assert shown | found == shown
    assert "somebody" not in answer.text
    assert "windows" not in shown
    assert client.get(path, params={"limit": 1}).json()["next"] == 0
    assert client.get(path, params={"after": 0}).json() == {"trials": [], "next": None}


@pytest.mark.parametrize("what", ["recommendation", "config", "script", "report"])
def test_a_job_without_recommendation_says_so(client: TestClient, job: Job, what: str) -> None:
    refused = client.get(f"/v1/tunings/{job.id}/{what}")
    assert (refused.status_code, refused.json()["code"]) == (409, "no-recommendation")
    assert "queued" in refused.json()["detail"]


def events_of(text: str) -> list[dict[str, str]]:
    """Return the events of a stream, comments left out; each begins with its name."""
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        if name == "event":
            found.append({})
        if name:
            found[-1][name] = value
    return found


def test_a_stream_ends_with_the_job(client: TestClient, done: Job) -> None:
    """Every event comes once, in order; what was seen does not come again, nor a browser."""
    answer = client.get(f"/v1/tunings/{done.id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    shown = events_of(answer.text)
    assert [each["id"] for each in shown] == [str(n + 1) for n in range(done.events)]
    assert [each["event"] for each in shown] == ["queued", "claimed", "trial_ended", "ended"]
    assert "somebody" not in answer.text
    resumed = client.get(f"/v1/tunings/{done.id}/events", headers={"Last-Event-ID": "2"})
    assert [each["id"] for each in events_of(resumed.text)] == ["3", "4"]
    for seen in (done.events, done.events + 1):
        over = client.get(f"/v1/tunings/{done.id}/events", headers={"Last-Event-ID": str(seen)})
        assert over.status_code == 204


def test_a_stream_beyond_the_end_misses_nothing(client: TestClient, jobs: Jobs, job: Job) -> None:
    path = f"/v1/tunings/{job.id}/events"
    with client.stream("GET", path, headers={"Last-Event-ID": "1000"}) as answer:
        jobs.cancel(job.id, None)
        shown = events_of("\n".join(answer.iter_lines()))
    assert [each["id"] for each in shown] == ["2", "3"]


def test_a_stream_goes_on_as_things_happen(
    client: TestClient, database: Database, token: LeaseToken, jobs: Jobs
) -> None:
    """What happens while somebody follows comes too; in silence there are signs of life."""
    with client.stream("GET", f"/v1/tunings/{token.job_id}/events") as answer:
        lines = answer.iter_lines()
        assert "event: claimed" in lines
        attempts.record(database, token, AttemptReport(number=1, events=[Notice(text="look")]))
        assert "event: notice" in lines
        assert ": still there" in lines
        jobs.cancel(token.job_id, None)
        assert "event: cancelling" in lines
        attempts.let_go(database, token, attempts.RELEASED, "stop")
        rest = [line for line in lines if line.startswith("event")]
    assert rest == ["event: released", "event: ended"]
    assert jobs.get(token.job_id, None).state is State.CANCELLED


def shown(problem: Any) -> dict[str, Any]:
    found: dict[str, Any] = problem.json()
    del found["instance"]
    return found


def test_jobs_of_others_are_not_there(client_with: Any, done: Job) -> None:
    """Every call about a foreign job answers as if there were none, to an administrator too."""
    other = client_with(Scope.READ, Scope.WRITE)
    unknown = "0" * 24
    for what in ("", "/trials", "/events", "/recommendation", "/config", "/script", "/report"):
        foreign = other.get(f"/v1/tunings/{done.id}{what}")
        assert foreign.status_code == 404, what
        assert shown(foreign) == shown(other.get(f"/v1/tunings/{unknown}{what}"))
    assert other.post(f"/v1/tunings/{done.id}/cancel").status_code == 404
    assert other.get("/v1/tunings").json()["tunings"] == []
    for before in (done.id, unknown):
        refused = other.get("/v1/tunings", params={"before": before})
        assert (refused.status_code, refused.json()["code"]) == (404, "not-found")
    assert other.get("/v1/tunings", params={"before": "1"}).status_code == 422
    assert client_with(*Scope, project="other").get(f"/v1/tunings/{done.id}").status_code == 404


def test_a_list_is_narrowed_down(client: TestClient, done: Job) -> None:
    def found(**query: object) -> list[str]:
        answer = client.get("/v1/tunings", params=query)
        assert answer.status_code == 200, answer.text
        return [each["id"] for each in answer.json()["tunings"]]

    fits = {"verdict": done.verdict, "state": "done"}
    assert found(**fits) == [done.id]
    assert found(**{**fits, "verdict": "distribute"}) == []
    assert found(workload="other") == []
    for odd in ({"verdict": "maybe"}, {"workload": "\0"}, {"label": "team"}):
        assert client.get("/v1/tunings", params=odd).status_code == 422
