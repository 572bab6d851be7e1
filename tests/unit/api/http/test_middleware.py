"""What every answer has: an id, a line in the log, and a document that tells of it."""

import logging
import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.log import logger
from autotune.wire.jobs import Job

ID = re.compile("[0-9a-f]{32}")


@pytest.mark.parametrize("given", [None, "abc-123", "a b", "x" * 65, "<script>"])
def test_every_answer_names_its_request(anybody: TestClient, given: str | None) -> None:
    headers = {} if given is None else {"X-Request-Id": given}
    answer = anybody.get("/v1/tunings", headers=headers)
    shown = answer.headers["x-request-id"]
    assert shown == given if given == "abc-123" else ID.fullmatch(shown)
    assert answer.json()["instance"] == f"urn:autotune:request:{shown}"


def test_the_log_tells_who_asked_what(
    client: TestClient, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger.name):
        client.post(f"/v1/tunings/{job.id}/cancel", headers={"X-Request-Id": "r1"})
    fields = caplog.records[-1].__dict__["fields"]
    assert fields["request"] == "r1"
    assert fields["client"] == "testclient"
    assert fields["job"] == job.id
    assert fields["key"] == job.created_by


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        ("192.0.2.1", "192.0.2.1"),
        *((odd, "?") for odd in ("1.2.3.4 key=first status=200", "<b>", "x" * 65, "\x1b[31m")),
    ],
)
def test_a_request_without_a_key_is_told_with_where_it_came_from(
    app: FastAPI, anybody: TestClient, caplog: pytest.LogCaptureFixture, said: str, logged: str
) -> None:
    """A proxy hands on what its caller says; no text of that forges a line of the log."""
    client = TestClient(app, base_url="http://localhost", client=(said, 1))
    client.portal = anybody.portal
    with caplog.at_level(logging.INFO, logger.name):
        client.get("/v1/tunings", headers={"Authorization": "Bearer wrong"})
    assert caplog.records[-1].__dict__["fields"]["client"] == logged


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/workloads", "/v1/tunings/{job}", "/"])
def test_the_head_of_an_answer_can_be_asked_for(client: TestClient, job: Job, path: str) -> None:
    """As probes do; it has the same status and length, and the server sends no body."""
    where = path.format(job=job.id)
    whole, head = client.get(where), client.head(where)
    assert head.status_code == 200
    for name in ("content-type", "content-length"):
        assert head.headers.get(name) == whole.headers.get(name)


def test_headers_make_no_other_request(client: TestClient, job: Job) -> None:
    """Neither method, address, host nor caller are what a header says beside the request's own."""
    said = {
        "X-HTTP-Method-Override": "DELETE",
        "X-Original-URL": "/metrics",
        "X-Rewrite-URL": "/metrics",
        "X-Forwarded-Host": "elsewhere.example.org",
        "X-Forwarded-User": "admin",
        "X-Forwarded-Prefix": "//elsewhere.example.org",
    }
    where = f"/v1/tunings/{job.id}"
    answer = client.get(where, headers=said)
    assert (answer.status_code, answer.json()["id"]) == (200, job.id)
    assert "elsewhere" not in answer.text + str(answer.headers)


def test_the_document_says_what_the_code_says(app: FastAPI) -> None:
    """Bounds in the words of JSON Schema, and of every field what stands below it."""
    text = str(app.openapi())
    assert not re.search(r"\'(ge|le|gt|lt)\':", text)
    schemas = app.openapi()["components"]["schemas"]
    assert schemas["Job"]["properties"]["attempt"]["description"].startswith("How often")
    assert schemas["Problem"]["properties"]["code"]["description"].startswith("The kind")
    parameters = app.openapi()["paths"]["/v1/tunings"]["get"]["parameters"]
    (limit,) = (each for each in parameters if each["name"] == "limit")
    assert limit["schema"] | {"minimum": 1, "maximum": 100} == limit["schema"]


def test_answers_for_programs_are_compressed(client: TestClient, job: Job) -> None:
    """Where the caller takes that; pages are not, whose length would tell what is on them."""
    packed = {"Accept-Encoding": "gzip"}
    whole = client.get(f"/v1/tunings/{job.id}", headers={"Accept-Encoding": "identity"})
    short = client.get(f"/v1/tunings/{job.id}", headers=packed)
    assert "content-encoding" not in whole.headers
    assert short.headers["content-encoding"] == "gzip"
    assert short.json() == whole.json()
    assert "content-encoding" not in client.get("/", headers=packed).headers


def test_what_is_asked_for_has_an_example_that_is_taken(app: FastAPI, client: TestClient) -> None:
    (example,) = app.openapi()["components"]["schemas"]["JobRequest"]["examples"]
    assert client.post("/v1/tunings", json=example).status_code == 202


def test_the_document_is_shown_without_another_site(anybody: TestClient) -> None:
    page = anybody.get("/docs")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for each in re.findall('(?:src|href)="([^"]+)"', page.text):
        assert anybody.get(each, follow_redirects=False).status_code == 200


def test_calls_have_names_and_tell_their_scopes(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    names = [each["operationId"] for methods in paths.values() for each in methods.values()]
    assert {"create_job", "list_jobs", "get_job", "cancel_job", "get_metrics"} <= {*names}
    assert len(names) == len({*names})
    assert paths["/v1/tunings"]["post"]["security"] == [{"key": ["write"]}]
    assert "security" not in paths["/healthz"]["get"]
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for methods in paths.values():
        for operation in methods.values():
            shown = operation["responses"]["4XX"]["content"]
            assert shown == {"application/problem+json": problem}
