"""The parts of a recommendation as files, what may be asked for, and what operators see."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.http.rest import MEDIA_TYPES
from autotune.api.identity import Scope
from autotune.api.store.database import Database
from autotune.config import Configuration
from autotune.result import Result
from autotune.result.files import PROGRAMS
from autotune.trial import Trial
from autotune.wire.jobs import Job


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
