"""Jobs: asking for them, following them, ending them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, Field
from starlette.concurrency import run_in_threadpool

from autotune.api.http.access import Reader, Writer, admit
from autotune.api.http.answers import RecommendationAnswer, TrialsAnswer
from autotune.api.http.middleware import json_only
from autotune.api.http.service import Here
from autotune.api.identity import Scope
from autotune.api.requests import DIGITS, ListQuery
from autotune.api.store.jobs import MOST_TRIALS
from autotune.value import Described
from autotune.wire.errors import no_such_job
from autotune.wire.jobs import FINAL, Job, JobRequest, Page

router = APIRouter(tags=["tunings"])
_LOCATION = {"headers": {"Location": {"schema": {"type": "string"}}}}
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,200}$",
        description="Repeating a request with its key within a week creates no second job.",
    ),
]


class TrialsQuery(Described):
    """Which trials to list."""

    after: Annotated[int, Field(ge=-1, lt=2**31), DIGITS] = -1
    """Only those with a higher number."""
    limit: Annotated[int, Field(ge=1, le=MOST_TRIALS), DIGITS] = MOST_TRIALS
    """Most trials to return."""


def checked_id(job_id: str) -> str:
    if not re.fullmatch("[0-9a-f]{24}", job_id):
        raise no_such_job()
    return job_id


JobId = Annotated[
    str,
    AfterValidator(checked_id),
    Path(description="A job's id.", examples=["3f1c9a0b5d7e2468ace13579"]),
]


Stream = AsyncGenerator[bytes]


async def stream_of(
    request: Request,
    job_id: JobId,
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
    """Give the events of a job, or None if all were seen; it ends when the answer is complete."""
    job = await run_in_threadpool(here.jobs.get, job_id, key.project)
    seen = min(last_event_id, job.events)
    if job.state in FINAL and seen == job.events:
        yield None
    else:

        async def again() -> None:
            """Make sure that the follower may still read the job; its project may have changed."""
            caller = await admit(request)
            await run_in_threadpool(here.jobs.get, job_id, caller.project)

        with here.streams.follow(job.id, seen, key.id, again) as stream:
            yield stream


@router.post(
    "/v1/tunings", status_code=202, responses={202: _LOCATION}, dependencies=[Depends(json_only)]
)
def create_job(
    request: JobRequest,
    response: Response,
    key: Writer,
    here: Here,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Queue a job; once this is answered it survives a crash of anything.

    Jobs run one at a time on the same devices.
    """
    if request.priority > 0:
        key.require(Scope.ADMIN)
    if request.program is not None:
        key.require(Scope.CODE)
    job = here.jobs.submit(request, key.project, idempotency_key, key.id)
    response.headers["Location"] = job.url
    return job


@router.get("/v1/tunings")
def list_jobs(query: Annotated[ListQuery, Query()], key: Reader, here: Here) -> Page:
    """List the jobs of the caller's project, newest first.

    Whatever is asked for must hold at once.
    """
    return here.jobs.page(key.project, query)


@router.get("/v1/tunings/{job_id}")
def get_job(job_id: JobId, key: Reader, here: Here) -> Job:
    """Get a job's state, progress and verdict; of one that waits, for what and how long."""
    return here.jobs.placed(job_id, key.project)


@router.get("/v1/tunings/{job_id}/trials")
def list_trials(
    job_id: JobId, query: Annotated[TrialsQuery, Query()], key: Reader, here: Here
) -> TrialsAnswer:
    """List every trial with its outcome and reason."""
    found = here.jobs.trial_records(job_id, key.project, after=query.after, limit=query.limit)
    return TrialsAnswer.of(found, query.limit)


_EVENT = {
    "type": "object",
    "properties": {
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/JobEvent"},
        },
        "event": {"type": "string"},
        "id": {"type": "string", "pattern": "^[0-9]+$"},
    },
    "required": ["data", "event", "id"],
}


@router.get(
    "/v1/tunings/{job_id}/events",
    response_class=Response,  # The other class would make this function a generator.
    responses={
        200: {"content": {"text/event-stream": {"itemSchema": _EVENT}}},
        204: {"description": "The job has ended and there are no further events."},
    },
)
async def follow_job(stream: Annotated[Stream | None, Depends(stream_of)]) -> Response:
    """Stream a job's server-sent events; the stream ends after the event `ended`."""
    if stream is None:
        # A browser would otherwise come again and again.
        return Response(status_code=204)
    return EventSourceResponse(
        stream, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    )


@router.get("/v1/tunings/{job_id}/recommendation")
def get_recommendation(job_id: JobId, key: Reader, here: Here) -> RecommendationAnswer:
    """Get the best configuration, its speed-up with interval, the reasons, and the program."""
    return RecommendationAnswer.of(*here.jobs.short_recommendation(job_id, key.project))


@router.post("/v1/tunings/{job_id}/cancel", status_code=202)
def cancel_job(job_id: JobId, key: Writer, here: Here) -> Job:
    """Cancel a job, whose processes end within forty seconds; cancelling it again has no effect."""
    return here.jobs.cancel(job_id, key.project)
