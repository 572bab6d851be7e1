"""The form that asks for a job."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job, Tuning
from autotune.options import SearchOptions, declared

SENT = {"workload": "digits", "params.digits.filters": "64", "space": "quick", "budget": "90s"}


def started(jobs: Jobs) -> tuple[Job, ...]:
    return jobs.page(None).tunings


def test_every_choice_can_be_made(browser: TestClient, jobs: Jobs) -> None:
    """What is named twice counts once."""
    numbers = {"max_trials": 40, "margin": 0.05, "seed": 7}
    numbers |= {"global_batch": 256, "max_global_batch": 512}
    sent = {name: str(each) for name, each in numbers.items()}
    names = ["one_device", "mirrored"]
    twice = {"strategies": [*names, *names], "workers": "1, 2, 1"}
    answer = browser.post("/", data={**SENT, **sent, **twice})
    (job,) = started(jobs)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/tunings/{job.id}")
    assert (job.params, job.space) == ({"filters": 64}, "quick")
    chosen = {**numbers, "budget": "90s", "strategies": names, "workers": [1, 2]}
    assert job.options == SearchOptions.model_validate(chosen)


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("params.digits.filters", "100000", "Input should be less than or equal to 512."),
        ("params.digits.filters", "5" * 310, "Input should be less than or equal to 512."),
        ("params.digits.filters", "many", "Input should be a valid integer."),
        ("budget", "yesterday", "yesterday"),
        ("budget", "2h", "A budget of 7200 s is not allowed."),
        ("space", "moon", "Unknown search space."),
        ("max_trials", "0", "Input should be greater than or equal to 1."),
        ("margin", "-1", "Input should be greater than or equal to 0."),
        ("workers", "1 two", "is not a list of integers"),
        ("labels", "vision", "Write name=text"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(
    browser: TestClient, jobs: Jobs, field: str, value: str, shown: str
) -> None:
    answer = browser.post("/", data={**SENT, "seed": "12", field: value})
    assert answer.status_code == 422
    assert started(jobs) == ()
    error = re.search(f'id="{re.escape(field)}-error">([^<]*)<', answer.text)
    assert error, answer.text
    assert shown in error[1]
    assert re.search(f'id="{re.escape(field)}"[^>]*aria-invalid="true"', answer.text)
    kept = {**SENT, "seed": "12", field: value}
    for name in ("params.digits.filters", "budget", "seed"):
        assert re.search(f'value="{re.escape(kept[name])}"[^>]*id="{re.escape(name)}"', answer.text)
    if field != "space":
        assert '<option value="quick" selected>' in answer.text


def test_a_quota_is_told_above_the_form(browser: TestClient, jobs: Jobs) -> None:
    browser.app.state.service.jobs._quotas = jobs._quotas.model_copy(update={"queued": 1})
    browser.post("/", data=SENT)
    answer = browser.post("/", data={**SENT, "seed": "1"})
    assert answer.status_code == 429
    assert "This project may have at most 1 job queued." in answer.text


def test_a_form_that_is_sent_twice_starts_one_job(browser: TestClient, jobs: Jobs) -> None:
    once = re.search('name="once" value="([^"]+)"', browser.get("/").text)
    for _ in range(2):
        browser.post("/", data={**SENT, "once": once[1]})
    assert len(started(jobs)) == 1
    browser.post("/", data={**SENT, "once": once[1], "budget": "60s"})
    browser.post("/", data=SENT)
    assert len(started(jobs)) == 3


def test_whoever_may_not_ask_sees_no_form(client_with: object) -> None:
    client = client_with(Scope.READ)
    assert "New job" not in client.get("/").text
    answer = client.post("/", data=SENT)
    assert answer.status_code == 403
    assert "lacks the scope write" in answer.text


def test_every_parameter_and_option_is_on_the_form_as_it_is_declared(browser: TestClient) -> None:
    page = unescape(browser.get("/").text)
    field = re.search('<input [^>]*id="params.digits.filters"[^>]*>', page)
    for told in ('inputmode="numeric"', 'value="32"'):
        assert told in field[0]
    assert "1 to 512." in page
    assert '<option value="False" selected>no</option>' in page
    for each in declared():
        assert f'name="{each.name}"' in page
        if each.name not in ("strategies", "budget"):
            assert each.description in page
        if isinstance(each.default, int | float) and each.kind not in ("boolean", "duration"):
            assert f'value="{each.default}"' in page


def test_labels_are_given_and_lead_to_the_jobs_that_have_them(
    browser: TestClient, jobs: Jobs
) -> None:
    browser.post("/", data={**SENT, "labels": "team=vision, run=7,"})
    browser.post("/", data=SENT)
    other, job = started(jobs)
    assert job.labels == {"team": "vision", "run": "7"}
    link = "/?label=team%3Avision"
    assert f'<a href="{link}">team:vision</a>' in browser.get(f"/tunings/{job.id}").text
    page = browser.get(f"{link}&state=queued").text
    assert job.id in page
    assert other.id not in page
    assert '<a href="/?state=queued" aria-label="Without the label team:vision">' in page
    assert '<input type="hidden" name="label" value="team:vision">' in page


def test_the_button_repeats_a_job_once(browser: TestClient, jobs: Jobs) -> None:
    browser.post("/", data={**SENT, "labels": "team=vision"})
    (job,) = started(jobs)
    path = f"/tunings/{job.id}/repeat"
    assert path not in browser.get(f"/tunings/{job.id}").text
    jobs.cancel(job.id, None)
    page = browser.get(f"/tunings/{job.id}").text
    assert f'action="{path}"' in page
    once = re.search('name="once" value="([^"]+)"', page)
    answers = [browser.post(path, data={"once": once[1]}) for _ in "ab"]
    second, first = started(jobs)
    assert [each.headers["location"] for each in answers] == [f"/tunings/{second.id}"] * 2
    assert first.id == job.id
    for name in Tuning.model_fields:
        assert getattr(second, name) == getattr(job, name), name
    browser.post(path)
    assert len(started(jobs)) == 3


def test_a_job_is_repeated_in_the_name_of_the_caller(
    client: TestClient, client_with: Any, jobs: Jobs
) -> None:
    asked = {"workload": "digits", "labels": {"team": "vision"}, "priority": -1}
    first = client.post("/v1/tunings", json=asked).json()
    path = f"/tunings/{first['id']}/repeat"
    assert client_with(Scope.READ, Scope.WRITE, project="others").post(path).status_code == 404
    admin = client_with(*Scope, project=first["project"])
    assert admin.post(path, follow_redirects=False).status_code == 303
    second, _ = started(jobs)
    assert second.project == first["project"]
    assert second.created_by != first["created_by"]
    urgent = admin.post("/v1/tunings", json={**asked, "priority": 1}).json()
    refused = client.post(f"/tunings/{urgent['id']}/repeat")
    assert (refused.status_code, "lacks the scope admin" in refused.text) == (403, True)
    viewer = client_with(Scope.READ, project=first["project"])
    refused = viewer.post(path)
    assert (refused.status_code, "lacks the scope write" in refused.text) == (403, True)
