"""The REST routes: jobs, followed and ended, the files of their results, what operators see."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.testclient import TestClient

from autotune.api.http.rest import MEDIA_TYPES
from autotune.api.identity import Scope
from autotune.api.store import attempts, workers
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import LeaseToken, WorkerInfo
from autotune.config import Configuration
from autotune.events import Notice
from autotune.result import Result
from autotune.result.files import PROGRAMS
from autotune.trial import Trial
from autotune.wire.errors import DatabaseUnavailable
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


def test_the_output_of_a_trial_is_told_to_its_owner(
    client: TestClient, client_with: Any, done: Job, trial: Trial
) -> None:
    """As text, also before the job has a result; a number that no trial has is not found."""
    path = f"/v1/tunings/{done.id}/trials"
    answer = client.get(f"{path}/{trial.number}/output")
    assert (answer.status_code, answer.text) == (200, trial.detail)
    assert answer.headers["content-type"].startswith("text/plain")
    assert client.get(f"{path}/1/output").json()["code"] == "not-found"
    other = client_with(Scope.READ, project="others")
    assert other.get(f"{path}/{trial.number}/output").status_code == 404


@pytest.mark.parametrize("part", ["launch", "slurm", "jobset", "ray"])
def test_a_program_of_one_process_has_no_launcher(client: TestClient, done: Job, part: str) -> None:
    refused = client.get(f"/v1/tunings/{done.id}/script", params={"part": part})
    assert (refused.status_code, refused.json()["code"]) == (404, "not-found")


def test_what_starts_a_gang_is_what_a_search_saves(
    client: TestClient, conclude: Callable[[Result], Job], recommendation: Result, tmp_path: Path
) -> None:
    gang = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
    programs = {"patch": "--- a/train.py\n+++ b/train.py\n", "launch": "print('launched')\n"}
    found = recommendation.model_copy(update={"configuration": gang, **programs})
    job, folder = conclude(found), found.save(tmp_path)
    program = client.get(f"/v1/tunings/{job.id}/script")
    assert program.content == (folder / "train.py").read_bytes()
    for part, (name, *_) in PROGRAMS.items():
        answer = client.get(f"/v1/tunings/{job.id}/script", params={"part": part})
        if not (folder / name).exists():  # A module that this program does not import.
            assert answer.status_code == 404
            continue
        assert answer.content == (folder / name).read_bytes()
        assert answer.headers["content-type"].partition(";")[0] == MEDIA_TYPES[Path(name).suffix]
        assert f'filename="{name}"' in answer.headers["content-disposition"]


def test_the_report_is_to_be_had_as_a_page(
    client: TestClient, done: Job, recommendation: Result
) -> None:
    """The one that a search saves, shown under the policy that it has as a file, in a sandbox."""
    answer = client.get(f"/v1/tunings/{done.id}/report")
    assert answer.headers["content-type"].startswith("text/html")
    assert 'filename="report.html"' in answer.headers["content-disposition"]
    own = re.search('http-equiv="Content-Security-Policy" content="([^"]+)"', answer.text)
    rules = answer.headers["content-security-policy"].split("; ")
    assert set(unescape(own[1]).split("; ")) < set(rules)
    assert {"sandbox allow-scripts", "default-src 'none'", "frame-ancestors 'none'"} < set(rules)
    assert "<h1>Training takes " in answer.text
    assert recommendation.script.strip() in unescape(re.sub("<[^>]+>", "", answer.text))


def test_workloads_with_their_parameters_are_listed(client: TestClient) -> None:
    answer = client.get("/v1/workloads")
    found = {each["name"]: each for each in answer.json()["workloads"]}
    assert found["digits"]["parameters"]["properties"]["filters"]["maximum"] == 512
    assert ".py" not in answer.text


def test_a_schema_of_another_version_is_not_ready(anybody: TestClient, database: Database) -> None:
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE autotune_version SET version_num = 'other'")
    assert anybody.get("/healthz").status_code == 200
    assert anybody.get("/readyz").status_code == 503


def test_the_metrics_tell_what_happens(client: TestClient, database: Database, done: Job) -> None:
    """In counts alone: neither whose jobs wait nor what for."""
    workers.seen(database, WorkerInfo(worker="w", devices="bench", host="h"))
    workers.drain(database, "w")
    needs = {"kind": "H100", "labels": ["rack=7"]}
    client.post("/v1/tunings", json={"workload": "digits", "needs": needs})
    client.get(f"/v1/tunings/{done.id}")
    client.get("/v1/nothing")
    text = client.get("/metrics").text
    for shown in (
        'http_requests_total{method="GET",route="/v1/tunings/{job_id}",status="200"} 1.0',
        'http_requests_total{method="GET",route="none",status="404"} 1.0',
        "database_up 1.0",
        'jobs{state="queued"} 1.0',
        'jobs{state="done"} 1.0',
        "jobs_unserved 1.0",
        "workers 1.0",
        "workers_draining 1.0",
        "workers_busy 0.0",
    ):
        assert f"autotune_{shown}\n" in text
    assert not any(each in text for each in (done.id, "rack", "H100"))
    figures = {
        name: float(value)
        for name, value in re.findall("^autotune_([a-z_]+) (.*)$", text, re.MULTILINE)
    }
    took = (done.ended_at or 0) - (done.started_at or 0)
    assert figures["device_seconds_total"] == pytest.approx(took, abs=1)
    assert 0 <= figures["queue_age_seconds"] < 600


def test_metrics_without_the_database(client_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jobs, "activity", Mock(side_effect=DatabaseUnavailable("gone")))
    answer = client_with(Scope.READ).get("/metrics")
    assert answer.status_code == 200
    assert "autotune_database_up 0.0" in answer.text
    assert "autotune_http_event_streams 0.0" in answer.text
    assert "autotune_jobs" not in answer.text


def test_workers_are_listed_and_their_jobs_told_to_the_project_alone(
    client: TestClient, client_with: Any, database: Database, job: Job, worker: WorkerInfo
) -> None:
    (found,) = client.get("/v1/workers").json()["workers"]
    assert found["name"] == worker.worker
    assert found["machine"]["hosts"][0]["cpus"] == 2
    assert (found["labels"], found["workloads"]) == (["fast"], {"digits": "c0de"})
    assert (found["busy"], found["draining"], found["job"]) == (False, False, None)
    assert attempts.claim(database, worker, 60.0) is not None
    for each, told in ((client, job.id), (client_with(Scope.READ), None)):
        (found,) = each.get("/v1/workers").json()["workers"]
        assert (found["busy"], found["job"]) == (True, told)
    workers.drain(database, worker.worker)
    assert client.get("/v1/workers").json()["workers"][0]["draining"] is True


def test_a_high_priority_needs_an_administrator(client: TestClient, client_with: Any) -> None:
    asked = {"workload": "digits", "priority": 1}
    answer = client.post("/v1/tunings", json=asked)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing")
    assert client.post("/v1/tunings", json={**asked, "priority": -10}).status_code == 202
    admin = client_with(Scope.ADMIN, Scope.WRITE)
    assert admin.post("/v1/tunings", json=asked).json()["priority"] == 1
    assert admin.post("/v1/tunings", json={**asked, "priority": 11}).status_code == 422
