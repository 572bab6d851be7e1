"""The calls of a client without its connection: requests, retries, and answers read.

Each call is a generator. It yields a request or the seconds to wait, is sent the response or the
error of the connection, and returns the answer; a client only sends and sleeps.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx2 as httpx
from pydantic import BaseModel, ValidationError

from autotune.api.comparison import Comparison
from autotune.api.errors import NoRecommendation, ServiceError, UnreadableRecord
from autotune.api.events import Ended
from autotune.api.http.answers import Problem, WorkersAnswer
from autotune.api.records import read
from autotune.api.requests import JobRequest
from autotune.api.states import FINAL, State
from autotune.api.values import Job, JobEvent, Page, SeenWorker
from autotune.errors import ServiceUnreachable
from autotune.events import Notice
from autotune.result import Result

AWAY = (502, 503, 504)
"""Statuses of a service that is about to come back, or of a proxy before it."""
FIRST_SECONDS = 5.0
"""So long an address is tried that has never answered: it may be wrong."""
SHORTEST, LONGEST = 0.2, 5.0
"""Seconds between two tries, and between two looks at a job."""
Answer = TypeVar("Answer", bound=BaseModel)
Returned = TypeVar("Returned")
Subject = Job | str
"""What a call is about, or its id."""
Steps = Generator[httpx.Request | float, Any, Returned]


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """A call of the service, as its OpenAPI document has it."""

    method: str
    path: str
    answer: type[Answer]


SUBMIT = Call("POST", "/v1/tunings", Job)
GET = Call("GET", "/v1/tunings/{job_id}", Job)
REPEAT = Call("POST", "/v1/tunings/{job_id}/repeat", Job)
CANCEL = Call("POST", "/v1/tunings/{job_id}/cancel", Job)
EVENTS = Call("GET", "/v1/tunings/{job_id}/events", JobEvent)
LIST = Call("GET", "/v1/tunings", Page)
WORKERS = Call("GET", "/v1/workers", WorkersAnswer)
COMPARE = Call("GET", "/v1/tunings/{job_id}/comparison", Comparison)
RESULT = Call("GET", "/v1/tunings/{job_id}/result", Result)


class Retry:
    """Bounds how long a service is waited for.

    Args:
        seconds: How long.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._pause = SHORTEST

    def pause(self, error: Exception) -> float:
        """Return how long to wait after an error.

        Raises:
            ServiceUnreachable: The time is over, and there was no answer.
            ServiceError: The time is over, and this was the answer.
        """
        if time.monotonic() < self._until:
            self._pause = min(2 * self._pause, LONGEST)
            return self._pause
        if isinstance(error, httpx.TransportError):
            raise ServiceUnreachable(
                f"The service does not answer: {error or type(error).__name__}.",
                "Check its address, and whether it runs.",
            ) from error
        raise error


class Calls:
    """Makes the calls of one client.

    Args:
        build: Makes a request from method and path.
        patience: Seconds for which a service is waited for that answered before.
    """

    def __init__(self, build: Callable[..., httpx.Request], patience: float) -> None:
        self._build = build
        self._patience = patience
        self._answered = False

    def submit(self, request: JobRequest, idempotency_key: str | None) -> Steps[Job]:
        """Ask for a job, which is made once however often the request is sent."""
        headers = {"Content-Type": "application/json", **_once(idempotency_key)}
        body = request.model_dump_json(exclude_defaults=True)
        return self._ask(SUBMIT, content=body, headers=headers)

    def repeat(self, job: Job | str, idempotency_key: str | None) -> Steps[Job]:
        """Ask for a job of the same request, which likewise is made once."""
        return self._ask(REPEAT, job, headers=_once(idempotency_key))

    def get(self, job: Job | str) -> Steps[Job]:
        """Return a job as it stands."""
        return self._ask(GET, job)

    def page(self, query: Mapping[str, Any], before: str | None) -> Steps[Page]:
        """Return some jobs, newest first, from the one behind another on."""
        asked = {**query, "before": before}
        given = {name: _text(each) for name, each in asked.items() if each is not None}
        return self._ask(LIST, params=given)

    def compare(self, job: Job | str, other: Job | str) -> Steps[Comparison]:
        """Return two jobs beside each other."""
        return self._ask(COMPARE, job, params={"other": id_of(other)})

    def workers(self) -> Steps[tuple[SeenWorker, ...]]:
        """Return the workers that are there."""
        return (yield from self._ask(WORKERS)).workers

    def cancel(self, job: Job | str) -> Steps[Job]:
        """Have a job end."""
        return self._ask(CANCEL, job)

    def wait(self, job: Job | str, seconds: float | None) -> Steps[Job]:
        """Return a job once it has ended, or as it stands when the time is over."""
        until = None if seconds is None else time.monotonic() + seconds
        pause = SHORTEST
        while True:
            found = yield from self.get(job)
            left = LONGEST if until is None else until - time.monotonic()
            if found.state in FINAL or left <= 0:
                return found
            yield min(pause, left)
            pause = min(1.5 * pause, LONGEST)

    def result(self, job: Job | str) -> Steps[Result]:
        """Return the result of a job once it has ended."""
        ended = yield from self.wait(job, None)
        if ended.state is State.FAILED:
            raise NoRecommendation(
                f"The job failed: {ended.reason}", "Mend this, and submit the job again."
            )
        return (yield from self._ask(RESULT, job))

    def stream(self, job: Job | str, after: int) -> Stream:
        """Return the event stream of a job."""
        return Stream(address(EVENTS, job), after, self.retry)

    def retry(self, *, answered: bool = False) -> Retry:
        """Return how long to wait for the service from now on."""
        self._answered |= answered
        return Retry(self._patience if self._answered else min(FIRST_SECONDS, self._patience))

    def _ask(self, call: Call[Answer], about: Subject = "", **more: Any) -> Steps[Answer]:
        response = yield from self._sent(call, about, **more)
        check_media_type(response, "application/json")
        return read(call.answer, response.text)

    def _sent(self, call: Call[Any], about: Subject, **more: Any) -> Steps[httpx.Response]:
        request, retry = self._build(call.method, address(call, about), **more), self.retry()
        while True:
            try:
                response = yield request
            except httpx.TransportError as exc:
                yield retry.pause(exc)
                continue
            if response.status_code not in AWAY:
                self._answered = True
                return successful(response)
            yield retry.pause(error_of(response))


def _once(idempotency_key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": idempotency_key or secrets.token_hex(16)}


def _text(value: Any) -> Any:
    """Return a value of an address; a time without a zone is that of this machine."""
    return value.astimezone().isoformat() if isinstance(value, datetime) else value


class Stream:
    """An event stream, over as many connections as it takes.

    Args:
        path: Its address.
        after: Number of the last event that is not wanted.
        retry: Returns how long to wait for the service from now on.
    """

    def __init__(self, path: str, after: int, retry: Callable[..., Retry]) -> None:
        self._path = path
        self._last = after
        self._new_retry = retry
        self._retry = retry()
        self.over = False
        """Nothing follows."""

    def request(self) -> dict[str, Any]:
        """Return what to ask for next."""
        headers = {"Last-Event-ID": str(self._last), "Accept": "text/event-stream"}
        return {"method": EVENTS.method, "url": self._path, "headers": headers}

    def begin(self, response: httpx.Response) -> None:
        """Take in the head of an answer, and its body if it is no stream.

        Raises:
            ServiceError: The service refuses.
            TransportError: It is away.
        """
        if response.status_code in AWAY:
            raise httpx.ReadError(str(error_of(response)))
        self.over = successful(response).status_code == httpx.codes.NO_CONTENT
        if not self.over:
            check_media_type(response, "text/event-stream")
        self._retry = self._new_retry(answered=True)

    def event(self, sent: httpx.ServerSentEvent) -> JobEvent:
        """Return an event that was sent."""
        self._last = int(sent.id)
        try:
            found = read(JobEvent, sent.data)
        except UnreadableRecord as exc:
            found = JobEvent(number=self._last, at=0.0, body=Notice(text=exc.cause))
        self.over = isinstance(found.body, Ended) or sent.event == "ended"
        return found

    def pause(self, error: Exception | None) -> float:
        """Return how long to wait before the next connection; the last one was lost."""
        return self._retry.pause(error or httpx.ReadError("The event stream ended early."))


def address(call: Call[Any], about: Subject) -> str:
    """Return the path of a call about a job."""
    return call.path.format(job_id=quote(id_of(about), safe=""))


def id_of(about: Subject) -> str:
    """Return the id of a job, given itself or that."""
    return about if isinstance(about, str) else about.id


def successful(response: httpx.Response) -> httpx.Response:
    """Return a response, or raise the error that it tells of."""
    if response.is_success:
        return response
    raise error_of(response)


def check_media_type(response: httpx.Response, expected: str) -> None:
    """Raise ServiceUnreachable if an answer is not of the service."""
    if response.headers.get("Content-Type", "").partition(";")[0].strip() != expected:
        raise _no_service(response)


def error_of(response: httpx.Response) -> ServiceError | ServiceUnreachable:
    """Return the error that an answer tells of, with the service's cause and next step."""
    try:
        problem = Problem.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        return _no_service(response)
    return _KINDS.get(problem.code, ServiceError)(problem.detail, problem.next_step)


def _no_service(response: httpx.Response) -> ServiceUnreachable:
    return ServiceUnreachable(
        f"What answers at {response.url.copy_with(query=None)} is no autotune service "
        f"(status {response.status_code}).",
        "Check its address.",
    )


def _kinds(base: type[ServiceError]) -> Mapping[str, type[ServiceError]]:
    found = {base.kind: base}
    for each in base.__subclasses__():
        found |= _kinds(each)
    return found


_KINDS = _kinds(ServiceError)
