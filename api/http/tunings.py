"""Jobs: asking for them, following them, ending them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field
from starlette.concurrency import run_in_threadpool

from autotune.api.callers import Caller, Scope
from autotune.api.comparison import Comparison
from autotune.api.errors import no_such_job
from autotune.api.http import examples
from autotune.api.http.access import Reader, Writer
from autotune.api.http.answers import (
    RecommendationAnswer,
    TrialsAnswer,
)
from autotune.api.http.examples import event_stream, json_answer
from autotune.api.http.middleware import json_only
from autotune.api.http.problems import CHANGING, CLOSED, documented
from autotune.api.http.service import Here, TheJobs
from autotune.api.labels import MOST_LABELS, Selector
from autotune.api.requests import JobRequest, Text
from autotune.api.states import FINAL, State
from autotune.api.store.jobs import MOST_JOBS, MOST_TRIALS, Jobs
from autotune.api.values import Filter, Job, Page
from autotune.result import Result, Verdict
from autotune.value import Value

router = APIRouter(tags=["tunings"])

FOR_ONE = ("not-found", "invalid-request", "unreadable-record", *CLOSED)
"""Problems of every call about one job."""
_FOR_REPEAT = (
    "body-too-large",
    "invalid-request",
    "unknown-workload",
    "invalid-parameter",
    "invalid-space",
    "space-not-runnable",
    "invalid-budget",
    "invalid-option",
    "not-found",
    "idempotency-mismatch",
    "quota-exceeded",
    *CHANGING,
)
_FOR_SUBMIT = ("malformed-body", "unsupported-media-type", *_FOR_REPEAT)
LOCATION = {"headers": {"Location": {"schema": {"type": "string"}}}}
"""What OpenAPI says of the address of a new job."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,200}$",
        description="Repeating a request with its key within a week creates no second job.",
    ),
]


def _digits(given: Any) -> Any:
    if isinstance(given, str) and not re.fullmatch("-?[0-9]{1,18}", given, re.ASCII):
        raise ValueError("Input should be a whole number")
    return given


# The bounds come first, so that the JSON schema tells them.
DIGITS = BeforeValidator(_digits)
"""Of a whole number in plain digits; `+1.0` is none."""


def _dated(given: Any) -> Any:
    if isinstance(given, str) and not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]", given):
        raise ValueError("Input should be a date with a time and a zone")
    return given


Moment = Annotated[AwareDatetime, BeforeValidator(_dated)]
"""A time as text; seconds since 1970 are none."""


class ListQuery(Value):
    """Which jobs to list."""

    state: list[State] = Field(default=[], max_length=len(State))
    """Only those in one of these states."""
    workload: Text | None = None
    """Only those of this workload."""
    verdict: Verdict | None = None
    """Only those with this verdict."""
    since: Moment | None = None
    """Only those created at this time or later."""
    until: Moment | None = None
    """Only those created before this time."""
    label: list[Selector] = Field(default=[], max_length=MOST_LABELS)
    """Only those with this label, `name:text`; of several, only those with all of them."""
    before: Annotated[str, Field(pattern="^[0-9a-f]{24}$")] | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS), DIGITS] = 20
    """Most jobs to return."""

    @property
    def filter(self) -> Filter:
        """Which jobs are wanted, but for their states."""
        times = {"since": self.since, "until": self.until}
        # A job's own time is told in whole microseconds, and so may be a little later than it is.
        given = {name: at and at.timestamp() - 1e-6 for name, at in times.items()}
        return Filter(
            workload=self.workload,
            verdict=self.verdict,
            labels=tuple(dict.fromkeys(self.label)),
            **given,
        )


class ComparisonQuery(Value):
    """With which job to compare one."""

    other: Annotated[str, Field(pattern="^[0-9a-f]{24}$")]
    """The id of the other job."""


class TrialsQuery(Value):
    """Which trials to list."""

    after: Annotated[int, Field(ge=-1, lt=2**31), DIGITS] = -1
    """Only those with a higher number."""
    limit: Annotated[int, Field(ge=1, le=MOST_TRIALS), DIGITS] = MOST_TRIALS
    """Most trials to return."""


def checked_id(job_id: str) -> str:
    """Return the id in an address.

    Raises:
        NotFound: It is none; a database may not even take the question.
    """
    if not re.fullmatch("[0-9a-f]{24}", job_id):
        raise no_such_job()
    return job_id


JobId = Annotated[
    str, AfterValidator(checked_id), Path(description="A job's id.", examples=[examples.JOB])
]


def job_for_reader(job_id: JobId, jobs: TheJobs, key: Reader) -> Job:
    """Return the job that is asked about.

    Raises:
        NotFound: There is none for this key.
    """
    return jobs.get(job_id, key.project)


Stream = AsyncGenerator[bytes]


async def stream_of(
    request: Request,
    job: Annotated[Job, Depends(job_for_reader)],
    here: Here,
    key: Reader,
    last_event_id: Annotated[
        int,
        Field(ge=0, lt=2**31),
        DIGITS,
        Header(
            alias="Last-Event-ID",
            description="Id of the last event received; the stream resumes after it.",
        ),
    ] = 0,
) -> AsyncIterator[Stream | None]:
    """Give the events of a job, or None if all were seen; it ends when the answer is complete.

    Raises:
        TooManyStreams: As many are open as may.
    """
    seen = min(last_event_id, job.events)
    if job.state in FINAL and seen == job.events:
        yield None
    else:
        again = partial(_still_reading, request.state.again, here.jobs, job.id)
        with here.streams.follow(job.id, seen, key.id, again) as stream:
            yield stream


async def _still_reading(again: Callable[[], Awaitable[Caller]], jobs: Jobs, job_id: str) -> None:
    """Make sure that a follower may look at a job as before, whosever it is by now.

    Raises:
        ServiceError: It may not.
    """
    caller = await again()
    await run_in_threadpool(jobs.get, job_id, caller.project)


async def swiftly(make: Callable[[], Value]) -> Response:
    """Return what a function makes in a thread, as JSON.

    Left to itself the framework goes to a thread for the query, for the route, and once more to
    check the answer, although that is a model of ours already; on a reading call this takes longer
    than everything else.
    """
    return await run_in_threadpool(_response, make)


async def accepted(make: Callable[[], Job]) -> Response:
    """Return the job that a function takes in, in a thread, as JSON, with its address."""
    job = await run_in_threadpool(make)
    answer = _json(job, 202)
    answer.headers["Location"] = job.url
    return answer


def _response(make: Callable[[], Value]) -> Response:
    return _json(make())


def _json(made: Value, status: int = 200) -> Response:
    text = made.__pydantic_serializer__.to_json(made)
    return Response(text, status, media_type="application/json")


@router.post(
    "/v1/tunings",
    status_code=202,
    summary="Create a tuning job",
    response_model=Job,
    responses={
        202: json_answer(examples.TUNING, "The job is stored durably.") | LOCATION,
        **documented(*_FOR_SUBMIT),
    },
    dependencies=[Depends(json_only)],
)
async def submit(
    request: Annotated[JobRequest, Body(openapi_examples=examples.REQUESTS)],
    key: Writer,
    jobs: TheJobs,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Queue a job. Jobs run one at a time on the same devices."""
    return await accepted(partial(taken_in, jobs, request, key, idempotency_key))


def taken_in(jobs: Jobs, request: JobRequest, key: Caller, idempotency_key: str | None) -> Job:
    """Return the job of a request, made in the name of a caller.

    Raises:
        ScopeMissing: The caller may not let a job go before those of others.
    """
    if request.priority > 0:
        key.require(Scope.ADMIN)
    return jobs.submit(request, key.project, idempotency_key, key.id)


@router.post(
    "/v1/tunings/{job_id}/repeat",
    status_code=202,
    summary="Repeat a job",
    response_model=Job,
    responses={
        202: json_answer(examples.TUNING, "A job of the same request is stored durably.")
        | LOCATION,
        **documented("unreadable-record", *_FOR_REPEAT),
    },
)
async def repeat(
    job_id: JobId, key: Writer, jobs: TheJobs, idempotency_key: IdempotencyKey = None
) -> Response:
    """Queue another job of the same request."""

    def made() -> Job:
        return taken_in(jobs, jobs.request(job_id, key.project), key, idempotency_key)

    return await accepted(made)


@router.get(
    "/v1/tunings",
    summary="List jobs",
    response_model=Page,
    responses={
        200: json_answer(examples.TUNINGS, "Jobs, newest first."),
        **documented(*FOR_ONE),
    },
)
async def listing(query: Annotated[ListQuery, Query()], key: Reader, jobs: TheJobs) -> Response:
    """List the jobs of the caller's project, newest first.

    Whatever is asked for must hold at once.
    """
    return await swiftly(partial(page_of, jobs, key, query))


def page_of(jobs: Jobs, key: Caller, query: ListQuery) -> Page:
    """Return the jobs that a key asks for."""
    return jobs.page(
        key.project,
        states=query.state,
        wanted=query.filter,
        before=query.before,
        limit=query.limit,
    )


@router.get(
    "/v1/tunings/{job_id}",
    summary="Get a job",
    response_model=Job,
    responses={200: json_answer(examples.DONE, "The job."), **documented(*FOR_ONE)},
)
async def one(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Get a job's state, progress and verdict; of one that waits, for what and how long."""
    return await swiftly(partial(jobs.placed, job_id, key.project))


@router.get(
    "/v1/tunings/{job_id}/trials",
    summary="List the trials of a job",
    response_model=TrialsAnswer,
    responses={200: json_answer(examples.TRIALS, "Trials by number."), **documented(*FOR_ONE)},
)
async def trials(
    job_id: JobId, query: Annotated[TrialsQuery, Query()], key: Reader, jobs: TheJobs
) -> Response:
    """List every trial with its outcome and reason."""
    found = partial(jobs.trial_records, job_id, key.project, after=query.after, limit=query.limit)
    return await swiftly(lambda: TrialsAnswer.of(found(), query.limit))


@router.get(
    "/v1/tunings/{job_id}/events",
    summary="Follow a job",
    response_class=Response,  # The other class would make this function a generator.
    responses={
        200: event_stream("The events as they happen."),
        204: {"description": "The job has ended and there are no further events."},
        **documented(*FOR_ONE, "too-many-streams"),
    },
)
async def events(stream: Annotated[Stream | None, Depends(stream_of)]) -> Response:
    """Stream a job's server-sent events; the stream ends after the event `ended`."""
    if stream is None:
        # A browser would otherwise come again and again.
        return Response(status_code=204)
    return EventSourceResponse(
        stream, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    )


@router.get(
    "/v1/tunings/{job_id}/recommendation",
    summary="Get the recommendation of a job",
    response_model=RecommendationAnswer,
    responses={
        200: json_answer(examples.RECOMMENDATION, "The whole recommendation."),
        **documented(*FOR_ONE, "no-recommendation"),
    },
)
async def recommendation(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Get the best configuration, its speed-up with interval, the reasons, and the program."""
    return await swiftly(
        lambda: RecommendationAnswer.of(*jobs.short_recommendation(job_id, key.project))
    )


@router.get(
    "/v1/tunings/{job_id}/result",
    summary="Get the result of a job",
    response_model=Result,
    responses={
        200: json_answer(examples.WHOLE, "What the Python call returns, with all trials."),
        **documented(*FOR_ONE, "no-recommendation"),
    },
)
async def result(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Get everything that the search has found, from which its files can be written."""
    return await swiftly(partial(jobs.recommendation, job_id, key.project))


@router.get(
    "/v1/tunings/{job_id}/comparison",
    summary="Compare a job with another one",
    response_model=Comparison,
    responses={
        200: json_answer(examples.COMPARISON, "Both, and what differs."),
        **documented(*FOR_ONE),
    },
)
async def comparison(
    job_id: JobId, query: Annotated[ComparisonQuery, Query()], key: Reader, jobs: TheJobs
) -> Response:
    """Get two jobs beside each other, and why their figures cannot be compared if they cannot."""
    return await swiftly(partial(jobs.comparison, job_id, query.other, key.project))


@router.post(
    "/v1/tunings/{job_id}/cancel",
    status_code=202,
    summary="Cancel a job",
    responses={
        202: json_answer(examples.CANCELLED, "Its processes end within 10 s."),
        **documented(*FOR_ONE, "cross-origin", "illegal-transition", "body-too-large"),
    },
)
def cancel(job_id: JobId, key: Writer, jobs: TheJobs) -> Job:
    """Cancel a job; cancelling it again has no effect."""
    return cancelled(jobs, job_id, key)


def cancelled(jobs: Jobs, job_id: str, key: Caller) -> Job:
    """Have a job end for a caller.

    Raises:
        NotFound: There is none that the caller may see.
        ScopeMissing: It may only look at it.
        IllegalTransition: It has ended otherwise.
    """
    return jobs.cancel(job_id, key.project)
