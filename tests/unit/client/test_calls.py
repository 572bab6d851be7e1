"""What the client asks for is what the service declares."""

from __future__ import annotations

from typing import Any

import httpx2 as httpx
import pytest
from pydantic import BaseModel

from autotune.api.errors import NotFound, ServiceError
from autotune.api.http import examples
from autotune.api.http.app import create_app
from autotune.api.http.problems import KINDS, problem
from autotune.api.requests import JobRequest
from autotune.api.settings import load_settings
from autotune.client import calls
from autotune.client.calls import Call, error_of
from autotune.errors import ServiceUnreachable

CALLS = [each for each in vars(calls).values() if isinstance(each, Call)]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The OpenAPI document as it is served."""
    return create_app(load_settings(examples=False)).openapi()


@pytest.mark.parametrize("call", CALLS, ids=lambda each: f"{each.method} {each.path}")
def test_every_call_is_declared_by_the_service(call: Call[Any], document: dict[str, Any]) -> None:
    """Its method and path are there, and its answer is of the same model with the same fields."""
    operation = document["paths"][call.path][call.method.lower()]
    answer = next(each for code, each in operation["responses"].items() if code[0] == "2")
    assert references(answer) == {call.answer.__name__}
    declared = document["components"]["schemas"][call.answer.__name__]["properties"]
    known = call.answer.model_json_schema(mode="serialization")["properties"]
    assert declared.keys() == known.keys()


def test_a_request_is_the_one_that_the_service_declares(document: dict[str, Any]) -> None:
    """What the client sends is validated by the very model."""
    body = document["paths"][calls.SUBMIT.path]["post"]["requestBody"]
    assert references(body) == {JobRequest.__name__}


def references(body: dict[str, Any]) -> set[str]:
    """Return the names of the models of a body."""
    (media,) = body["content"].values()
    schema = media.get("schema") or media["itemSchema"]["properties"]["data"]["contentSchema"]
    return {schema["$ref"].rpartition("/")[2].partition("-")[0]}


@pytest.mark.parametrize(("example", "call"), [("DONE", calls.GET), ("WHOLE", calls.RESULT)])
def test_an_answer_of_a_later_service_can_be_read(example: str, call: Call[Any]) -> None:
    """What it has added is left out."""
    told = {**getattr(examples, example), "later": 1}
    found: BaseModel = calls.read(call.answer, httpx.Response(200, json=told).text)
    assert found.model_dump(mode="json") == getattr(examples, example)


@pytest.mark.parametrize("code", KINDS)
def test_every_problem_becomes_an_error_of_the_tree(code: str) -> None:
    """With the service's cause and next step, as the class of that kind if there is one."""
    told = problem(code, "It is so.", "Do this.").model_dump(mode="json", exclude_defaults=True)
    error = error_of(httpx.Response(400, json=told))
    assert (error.cause, error.next_step) == ("It is so.", "Do this.")
    assert isinstance(error, ServiceError)
    assert error.kind in (code, ServiceError.kind)


def test_a_missing_job_is_not_found() -> None:
    """The class tells programs what went wrong."""
    told = problem("not-found", "Job not found.").model_dump(mode="json")
    assert type(error_of(httpx.Response(404, json=told))) is NotFound


def test_a_page_of_something_else_is_no_service() -> None:
    """A proxy's error says where it came from."""
    asked = httpx.Request("GET", "http://tuner/v1/tunings?state=done")
    error = error_of(httpx.Response(502, text="<h1>Bad gateway</h1>", request=asked))
    assert type(error) is ServiceUnreachable
    assert "http://tuner/v1/tunings is no autotune service (status 502)" in error.cause


@pytest.mark.parametrize("job", ["../../metrics", "a?b=c", "a b"])
def test_no_id_leads_elsewhere(job: str) -> None:
    """It stays one part of the path."""
    path = httpx.URL("http://tuner").join(calls.address(calls.GET, job)).raw_path.decode()
    assert path.startswith("/v1/tunings/")
    assert path.count("/") == 3
    assert "?" not in path
