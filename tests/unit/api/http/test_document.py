"""The OpenAPI document is the contract, and its examples are true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.http import examples, problems
from autotune.api.keys import Scope
from autotune.api.values import Job

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture
def document(app: FastAPI) -> dict[str, Any]:
    """The document."""
    return app.openapi()


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    """Yield path, method and declaration of every call."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def examples_of(media: dict[str, Any]) -> list[Any]:
    """Return all examples of a body."""
    several = [each["value"] for each in media.get("examples", {}).values()]
    return [media["example"], *several] if "example" in media else several


def test_every_call_has_an_example_of_each_answer(document: dict[str, Any]) -> None:
    """Whoever reads the document sees what comes, errors included."""
    for path, method, operation in operations(document):
        assert operation["summary"], path
        for status, response in operation["responses"].items():
            media = response.get("content", {})
            assert status == "204" or any(map(examples_of, media.values())), (path, method, status)


def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    """Requests and answers, the refused ones too."""
    checked = 0
    for _, _, operation in operations(document):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media in (each for body in bodies for each in body.get("content", {}).values()):
            schema = {**media.get("schema", {}), "components": document["components"]}
            for example in examples_of(media):
                jsonschema_rs.validate(schema, example)
                checked += 1
    assert checked > 100


def test_every_example_of_a_request_is_accepted(client: TestClient) -> None:
    """They can be sent as they stand."""
    for each in examples.REQUESTS.values():
        answer = client.post("/v1/tunings", json=each["value"])
        assert answer.status_code == 202, answer.text


def test_every_example_of_an_answer_has_the_fields_of_a_real_one(
    document: dict[str, Any], client_with: Any, done: Job
) -> None:
    """No field is missing in an example, and none is made up."""
    admin = client_with(*Scope)
    for path, method, operation in operations(document):
        media = operation["responses"].get("200", {}).get("content", {})
        if method != "get" or not media:
            continue
        answer = admin.get(path.replace("{job_id}", done.id))
        kind = answer.headers["content-type"].partition(";")[0]
        assert answer.status_code == 200, path
        assert kind in media, path
        if kind == "application/json":
            assert shape(media[kind]["example"]) == shape(answer.json()), path


def shape(value: Any) -> Any:
    """Return the names of an object's fields, and of those within."""
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, dict) and not {"axes", "properties"} & set(value):
        nested = {"progress", "program", "tunings", "trials", "workloads", "spaces", "machine"}
        return {k: shape(v) if k in nested else None for k, v in value.items()}
    return None


def test_every_kind_of_problem_is_documented_somewhere(document: dict[str, Any]) -> None:
    """A program can know all codes beforehand, but for those that no call can meet."""
    told = {
        code
        for _, _, operation in operations(document)
        for response in operation["responses"].values()
        for code in response.get("content", {}).get(problems.MEDIA_TYPE, {}).get("examples", {})
    }
    unmet = {"service-error", "invalid-tuning", "conflict", "superseded", "http-error"}
    by_address = {"no-such-route", "method-not-allowed"}
    assert set(problems.KINDS) - told == unmet | by_address


def test_closed_calls_name_their_scopes(document: dict[str, Any]) -> None:
    """The document says which scope each call needs."""
    needed = {
        (path, method): operation.get("security", [])
        for path, method, operation in operations(document)
    }
    assert needed["/v1/tunings", "post"] == [{"key": [Scope.WRITE]}]
    assert needed["/metrics", "get"] == [{"key": [Scope.ADMIN]}]
    assert needed["/healthz", "get"] == []
