"""How errors are answered."""

import errno
import gzip
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event
from starlette.testclient import TestClient

from autotune.api.http import access
from autotune.api.http.problems import MEDIA_TYPE, STATUSES
from autotune.api.log import logger
from autotune.api.store.jobs import Jobs
from autotune.wire import errors
from autotune.wire.errors import DatabaseUnavailable, DiskFull, ServiceError


def all_errors(base: type[ServiceError] = ServiceError) -> Iterator[type[ServiceError]]:
    yield base
    for each in base.__subclasses__():
        yield from all_errors(each)


@pytest.mark.parametrize("error", [*all_errors()])
def test_every_kind_of_error_has_a_status(error: type[ServiceError]) -> None:
    assert error.kind in STATUSES
    assert STATUSES[error.kind] >= 400
    twins = [each for each in all_errors() if each.kind == error.kind]
    assert twins == [error]
    assert error.__module__ in {errors.__name__, access.__name__}


def space(**axes: list[Any]) -> dict[str, Any]:
    return {"space": {"strategies": ["one_device"], "axes": axes}}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"workload": "nosuch"}, "unknown-workload"),
        ({"workload": "examples/digits.py:model_fn"}, "unknown-workload"),
        ({"params": {"filters": 0}}, "invalid-parameter"),
        ({"params": {"path": "/etc/passwd"}}, "invalid-parameter"),
        ({"space": "/etc/passwd"}, "invalid-space"),
        ({"space": "spaces/mine.yaml"}, "invalid-space"),
        ({"space": "tpu"}, "space-not-runnable"),
        (space(per_replica_batch=[8], folder=["/etc"]), "invalid-parameter"),
        (space(filters=[float("nan")]), "invalid-space"),
        (space(filters=["x" * 1000]), "invalid-space"),
        (space(filters=["a\tb"]), "invalid-space"),
        (space(filters=[10**400]), "invalid-space"),
        (space(per_replica_batch=[10**400]), "invalid-space"),
        ({"budget": "9h"}, "invalid-budget"),
        ({"budget": "1s"}, "invalid-budget"),
        ({"strategies": []}, "invalid-option"),
        ({"strategies": ["magic"]}, "invalid-option"),
        ({"objective": "magic"}, "invalid-option"),
        ({"code": "import os"}, "invalid-request"),
        ({"params": {"filters": "x" * 1000}}, "invalid-request"),
        ({"params": {"filters": [1]}}, "invalid-request"),
        ({"margin": float("nan")}, "invalid-request"),
        ({"seed": 2**40}, "invalid-request"),
        ({"budget": float("nan")}, "invalid-request"),
        ({"budget": "soon"}, "invalid-request"),
        ({"budget": "\u0663min"}, "invalid-request"),
        ({"workers": []}, "invalid-request"),
        ({"workers": list(range(1, 100))}, "invalid-request"),
        ({"labels": {"team": "x"}}, "invalid-request"),
        ({"needs": {"devices": True}}, "invalid-request"),
        ({"needs": {"kind": "%"}}, "invalid-request"),
        ({"needs": {"labels": ["a b"]}}, "invalid-request"),
        ({"needs": {"labels": ["\ud800"]}}, "invalid-request"),
        ({"needs": {"gpus": 2}}, "invalid-request"),
    ],
)
def test_what_is_wrong_is_told(client: TestClient, wrong: dict[str, Any], code: str) -> None:
    refused = client.post(
        "/v1/tunings",
        content=json.dumps({"workload": "digits", **wrong}),
        headers={"Content-Type": "application/json"},
    )
    shown = refused.json()
    assert (refused.status_code, shown["code"], shown["status"]) == (422, code, 422)
    assert refused.headers["content-type"] == MEDIA_TYPE
    assert re.search(r"[^.]\.$", shown["detail"])
    if code == "invalid-request":
        assert shown["errors"][0]["location"].startswith(f"body.{next(iter(wrong))}")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed-body"),
        (b"\xff\xfe", 400, "malformed-body"),
        (b"[" * 50_000, 400, "malformed-body"),
        (b'{"workload": "digits", "seed": 1' + b"0" * 5000 + b"}", 400, "malformed-body"),
        (b'{"\\ud800": 1, "workload": "digits"}', 422, "invalid-request"),
        (b"", 422, "invalid-request"),
        (b"[]", 422, "invalid-request"),
        (b" " * 70_000, 413, "body-too-large"),
    ],
)
def test_a_malformed_body_is_told(client: TestClient, body: bytes, status: int, code: str) -> None:
    headers = {"Content-Type": "application/json"}
    refused = client.post("/v1/tunings", content=body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (status, code)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_media_type_is_refused(client: TestClient, kind: str) -> None:
    refused = client.post(
        "/v1/tunings", content=b'{"workload": "digits"}', headers={"Content-Type": kind}
    )
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported-media-type")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, identity"])
def test_a_body_that_is_packed_is_refused(client: TestClient, coding: str) -> None:
    """What a few bytes become would not be bounded; what only says that it is, is no less odd."""
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    said = client.post("/v1/tunings", content=b'{"workload": "digits"}', headers=headers)
    assert (said.status_code, said.json()["code"]) == (415, "unsupported-media-type")
    packed = gzip.compress(b'{"workload": "digits"}')
    assert client.post("/v1/tunings", content=packed, headers=headers).status_code == 400


def test_an_unknown_address_and_a_wrong_method(client: TestClient) -> None:
    assert client.get("/v1/nothing").json()["code"] == "no-such-route"
    refused = client.delete("/v1/tunings")
    assert (refused.status_code, refused.json()["code"]) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, POST"


@pytest.mark.parametrize("number", ["+1", "1.0", "1e1", "0x1", "", "99999999999999999999", "²"])
def test_a_number_in_other_than_plain_digits_is_refused(client: TestClient, number: str) -> None:
    query = {"limit": number}
    assert client.get("/v1/tunings", params=query).status_code == 422


PRIVATE = "postgresql://me:secret@host/db in /home/somebody"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (DatabaseUnavailable("The database is unavailable."), 503, "database-unavailable"),
        (DiskFull("The database has no space left."), 503, "disk-full"),
        (OSError(errno.ENOSPC, "No space left", PRIVATE), 503, "disk-full"),
        (OSError(errno.EACCES, "Denied", PRIVATE), 500, "internal-error"),
        (RuntimeError(PRIVATE), 500, "internal-error"),
    ],
)
def test_what_fails_inside_is_not_shown(
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    code: str,
) -> None:
    """The database and the disk have a status, everything else is an error without details."""
    monkeypatch.setattr(Jobs, "submit", failing(error))
    with caplog.at_level(logging.DEBUG):
        failed = client.post("/v1/tunings", json={"workload": "digits"})
    assert (failed.status_code, failed.json()["code"]) == (status, code)
    assert ("retry-after" in failed.headers) == (status == 503)
    assert "secret" not in failed.text + caplog.text
    assert "somebody" not in failed.text + caplog.text
    assert failed.headers["x-content-type-options"] == "nosniff"


def failing(error: Exception, cause: Exception | None = None) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error from cause

    return fail


def test_the_log_tells_why_the_database_does_not_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The kind, and the first line of what is behind it; the answer has none of that."""
    cause = OSError("connection refused by postgresql://me:secret@host/db\nDETAIL: a value")
    gone = DatabaseUnavailable("The database is unavailable.")
    monkeypatch.setattr(Jobs, "page", failing(gone, RuntimeError("through a pool")))
    monkeypatch.setattr(Jobs, "submit", failing(gone, cause))
    with caplog.at_level(logging.WARNING, logger.name):
        pages = client.get("/v1/tunings")
        jobs = client.post("/v1/tunings", json={"workload": "digits"})
    first, second = (each.getMessage() for each in caplog.records)
    assert "kind=database-unavailable" in first
    assert "error=RuntimeError text=through a pool" in first
    assert "error=OSError text=connection refused by (address)" in second
    assert "refused" not in pages.text + jobs.text
    assert "DETAIL" not in second


def test_a_full_disk_loses_nothing(app: FastAPI, client: TestClient) -> None:
    """What was answered with 202 stays, the rest is told, and once there is room it goes on."""
    engine = app.state.service.database._writer
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 4

    @event.listens_for(engine, "checkout")
    def fill(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    calls = [client.post("/v1/tunings", json={"workload": "digits"}) for _ in range(60)]
    kept = [each for each in calls if each.status_code == 202]
    full = [each for each in calls if each.status_code == 503]
    assert kept
    assert len(kept) + len(full) == 60
    assert {each.json()["code"] for each in full} == {"disk-full"}
    ready = [client.get("/readyz").json()["code"] for _ in range(2)]
    assert ready == ["disk-full", "disk-full"]
    listed = client.get("/v1/tunings", params={"limit": 100}).json()["tunings"]
    assert {each["id"] for each in listed} == {each.json()["id"] for each in kept}
    pages = 10**6
    assert client.get("/readyz").status_code == 200
    assert client.post("/v1/tunings", json={"workload": "digits"}).status_code == 202
