"""The OpenAPI document is the contract, and its examples are true."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.callers import Scope
from autotune.api.http import examples, problems
from autotune.api.http.answers import RecommendationAnswer
from autotune.api.values import Job
from autotune.result import Result

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
        query = {"other": done.id} if path.endswith("/comparison") else {}
        path = path.replace("{job_id}", done.id)  # noqa: PLW2901
        answer = admin.get(path.replace("{number}", "0"), params=query)
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
        nested = {"program", "tunings", "trials", "workloads", "spaces", "machine"}
        nested |= {
            "compared",
            "configuration",
            "best_distributed_speedup",
        }
        return {k: shape(v) if k in nested else None for k, v in value.items()}
    return None


def test_the_example_of_a_recommendation_is_whole_and_agrees_with_itself() -> None:
    """It is what a real one of these values would be, and keeps to what its job allows."""
    example = examples.RECOMMENDATION
    found = RecommendationAnswer.model_validate(example)
    assert found.model_dump(mode="json") == example
    assert found.certificate
    assert found.diagnosis
    assert found.unchanged_batch
    assert found.certificate.line in found.reasons
    assert found.global_batch == found.configuration.global_batch
    bounds = examples.DONE
    assert found.global_batch <= bounds["max_global_batch"]
    assert {found.configuration.strategy} <= set(bounds["strategies"])
    assert found.summary == examples.DONE["summary"]
    assert found.trials == examples.DONE["trials"]
    for each in (found.diagnosis.one_device, found.diagnosis.distributed):
        assert each
        assert abs(sum(share.share.value for share in each.shares) - 1) < 0.001


def test_what_a_recommendation_knows_is_told(
    client: TestClient, conclude: Callable[[Result], Job], recommendation: Result
) -> None:
    """The certificate, the diagnosis and the way that leaves the batch unchanged come along."""
    told = ("certificate", "diagnosis", "unchanged_batch")
    values = RecommendationAnswer.model_validate(examples.RECOMMENDATION)
    changes = {name: getattr(values, name) for name in told}
    job = conclude(recommendation.model_copy(update=changes))
    answer = client.get(f"/v1/tunings/{job.id}/recommendation").json()
    for name in told:
        assert answer[name] == examples.RECOMMENDATION[name]


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
    assert needed["/v1/tunings", "post"] == [{"key": [Scope.WRITE]}, {"token": [Scope.WRITE]}]
    assert needed["/metrics", "get"] == [{"key": [Scope.METRICS]}, {"token": [Scope.METRICS]}]
    assert needed["/healthz", "get"] == []
