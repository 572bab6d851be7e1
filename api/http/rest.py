"""The REST routes: jobs and the files of their results, uploaded code, and what operators need."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path as File
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse
from pydantic import AfterValidator, Field, JsonValue, computed_field, create_model
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from autotune.api import archives
from autotune.api.http.access import Reader, Uploader, Writer, admit
from autotune.api.http.middleware import json_only
from autotune.api.http.service import METRICS_TYPE, Here, Service
from autotune.api.identity import Scope
from autotune.api.log import note
from autotune.api.requests import DIGITS, ListQuery
from autotune.api.store import code
from autotune.api.store.jobs import MOST_TRIALS
from autotune.api.values import read
from autotune.base import Described, Value
from autotune.reason.sentences import reason_text
from autotune.result import Result, Verdict
from autotune.result.files import PROGRAMS, programs
from autotune.result.html import page, policy
from autotune.result.stored import configuration_text
from autotune.stats.intervals import Interval
from autotune.trial import Trial
from autotune.wire.errors import BadArchive, NotFound, no_such_job
from autotune.wire.jobs import FINAL, CodeAnswer, Job, JobRequest, Page, WorkersAnswer

tunings, uploads, operating = (APIRouter(tags=[each]) for each in ("tunings", "code", "operating"))
_LOCATION = {"headers": {"Location": {"schema": {"type": "string"}}}}


def _without(model: type[Value], *fields: str) -> dict[str, Any]:
    found = model.model_fields.items()
    return {name: (field.annotation, field) for name, field in found if name not in fields}


if TYPE_CHECKING:
    _Trial = Trial
else:
    _Trial = create_model("_Trial", __base__=Value, **_without(Trial, "windows", "detail"))


class TrialAnswer(_Trial):
    """One run of one configuration, and what became of it."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def sentence(self) -> str:
        return reason_text(self.reason)

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def global_batch(self) -> int:
        """Examples of one step."""
        return self.configuration.global_batch


class TrialsAnswer(Described):
    """Trials of a job by number."""

    trials: tuple[TrialAnswer, ...]
    next: int | None
    """What to give as `after` for the rest; null if there is none yet."""


_INTERNAL = {"schema_version", "workload", "facts", "study", "space", "options"}
_APART = {"trials"}
"""Fields of a result that have routes of their own."""
_Result: Any = create_model("_Result", __base__=Value, **_without(Result, *_INTERNAL, *_APART))


class RecommendationAnswer(_Result):
    """The result of a job: the best configuration, how sure it is, why, and the program for it."""

    verdict: Verdict
    """Whether to distribute."""
    examples_per_second: Interval | None
    """Throughput of the recommended configuration; null where it did not run."""
    gain_over_yours: Interval | None
    """How many times as good as the user's own settings it is; null where these are recommended."""
    summary: str
    """The verdict as a sentence."""
    reasons: tuple[str, ...]
    """Why, one sentence each, the most important first."""
    trials: int
    """How many there are."""


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


@tunings.post(
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


@tunings.get("/v1/tunings")
def list_jobs(query: Annotated[ListQuery, Query()], key: Reader, here: Here) -> Page:
    """List the jobs of the caller's project, newest first.

    Whatever is asked for must hold at once.
    """
    return here.jobs.page(key.project, query)


@tunings.get("/v1/tunings/{job_id}")
def get_job(job_id: JobId, key: Reader, here: Here) -> Job:
    """Get a job's state, progress and verdict; of one that waits, for what and how long."""
    return here.jobs.placed(job_id, key.project)


@tunings.get("/v1/tunings/{job_id}/trials")
def list_trials(
    job_id: JobId, query: Annotated[TrialsQuery, Query()], key: Reader, here: Here
) -> TrialsAnswer:
    """List every trial with its outcome and reason."""
    found = here.jobs.trial_records(job_id, key.project, after=query.after, limit=query.limit)
    trials = tuple(read(TrialAnswer, each) for each in found)
    more = len(trials) == query.limit
    return TrialsAnswer(trials=trials, next=trials[-1].number if more else None)


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


@tunings.get(
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


@tunings.get("/v1/tunings/{job_id}/recommendation")
def get_recommendation(job_id: JobId, key: Reader, here: Here) -> RecommendationAnswer:
    """Get the best configuration, its speed-up with interval, the reasons, and the program."""
    record, trials = here.jobs.short_recommendation(job_id, key.project)
    return read(RecommendationAnswer, f'{record[:-1]},"trials":{trials}}}')


@tunings.post("/v1/tunings/{job_id}/cancel", status_code=202)
def cancel_job(job_id: JobId, key: Writer, here: Here) -> Job:
    """Cancel a job, whose processes end within forty seconds; cancelling it again has no effect."""
    return here.jobs.cancel(job_id, key.project)


YAML = "application/yaml"
MEDIA_TYPES = {
    ".py": "text/x-python",
    ".patch": "text/x-diff",
    ".slurm": "text/x-shellscript",
    ".yaml": YAML,
}
Part = Annotated[
    str, Query(pattern=f"^({'|'.join(PROGRAMS)})$", description="Which of the programs.")
]
TrialNumber = Annotated[
    int, Field(ge=0, lt=2**31), DIGITS, Path(description="A trial's number.", examples=[0])
]
_OF_A_PAGE = {
    # Without `inline` it could be opened only after a download.
    "Content-Disposition": 'inline; filename="report.html"',
    # The page may do what it brings along, and has nothing to do with this service otherwise.
    "Content-Security-Policy": f"sandbox allow-scripts; frame-ancestors 'none'; {policy()}",
    # A browser shows nothing that is in a sandbox and wants to be isolated as well.
    "Cross-Origin-Opener-Policy": "unsafe-none",
}


def text_answer(*media_types: str) -> dict[int | str, dict[str, Any]]:
    # YAML is read before its schema is looked at.
    kinds = {each: "object" if each == YAML else "string" for each in media_types}
    return {200: {"content": {each: {"schema": {"type": kind}} for each, kind in kinds.items()}}}


@tunings.get("/v1/tunings/{job_id}/result")
def get_result(job_id: JobId, key: Reader, here: Here) -> Result:
    """Get everything that the search has found, from which its files can be written."""
    return here.jobs.recommendation(job_id, key.project)


@tunings.get("/v1/tunings/{job_id}/config", response_class=Response, responses=text_answer(YAML))
def get_config(job_id: JobId, key: Reader, here: Here) -> Response:
    """Get config.yaml: what was decided; `result` is its result.json."""
    result = here.jobs.recommendation(job_id, key.project)
    return _file("config.yaml", configuration_text(result), YAML)


@tunings.get(
    "/v1/tunings/{job_id}/script",
    response_class=Response,
    responses=text_answer(*MEDIA_TYPES.values()),
)
def get_script(job_id: JobId, key: Reader, here: Here, part: Part = "train") -> Response:
    """Get train.py, exactly as timed, a module or patch of it, or what starts all its workers."""
    name = PROGRAMS[part].name
    found = programs(here.jobs.recommendation(job_id, key.project))[name]
    if found is None:
        raise NotFound("This program needs no such file.", "Run train.py directly.")
    return _file(name, found, MEDIA_TYPES[f".{name.rpartition('.')[2]}"])


@tunings.get(
    "/v1/tunings/{job_id}/report", response_class=Response, responses=text_answer("text/html")
)
def get_report(job_id: JobId, key: Reader, here: Here) -> Response:
    """Get report.html, a page in one file, which loads nothing."""
    result = here.jobs.recommendation(job_id, key.project)
    return Response(page(result), media_type="text/html", headers=_OF_A_PAGE)


@tunings.get(
    "/v1/tunings/{job_id}/trials/{number}/output",
    response_class=Response,
    responses=text_answer("text/plain"),
)
def get_output(job_id: JobId, number: TrialNumber, key: Reader, here: Here) -> Response:
    """Get what a failed trial printed last, its traceback among it; empty if nothing is kept."""
    found = here.jobs.trial(job_id, key.project, number)
    return Response(found.detail, media_type="text/plain")


def _file(name: str, text: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{name}"'
    return Response(text, media_type=media_type, headers={"Content-Disposition": disposition})


Digest = Annotated[
    str,
    Path(
        pattern="^[0-9a-f]{64}$",
        description="SHA-256 of the archive's bytes, in lower-case hexadecimal.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ),
]
_KINDS = ("application/gzip", "application/x-tar", "application/zip", "application/octet-stream")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {each: {"schema": {"type": "string", "format": "binary"}} for each in _KINDS},
    }
}


@uploads.put(
    "/v1/code/{digest}",
    openapi_extra=_BODY,
    responses={201: {"model": CodeAnswer, "description": "It is new."}},
)
async def upload_code(
    digest: Digest, request: Request, response: Response, key: Uploader, here: Here
) -> CodeAnswer:
    """Upload a folder as a tar, gzipped or not, or a zip; a job names it by its digest.

    Equal code needs to be sent once. Links are refused.
    """
    with tempfile.NamedTemporaryFile(dir=here.settings.data, prefix=".upload-") as file:
        found = hashlib.sha256()
        try:
            async for chunk in request.stream():
                found.update(chunk)
                await run_in_threadpool(file.write, chunk)
        except ClientDisconnect as exc:
            raise BadArchive("The archive came to an end too soon.", "Send it again.") from exc
        if found.hexdigest() != digest:
            raise BadArchive(
                f"The digest of what came is {found.hexdigest()}.",
                "Send the archive whole, to the address of its own digest.",
            )
        file.flush()
        is_new = await run_in_threadpool(_keep, here, key.project, digest, File(file.name))
        response.status_code = 201 if is_new else 200
        return await run_in_threadpool(code.about, here.database, key.project, digest)


def _keep(here: Service, project: str, digest: str, archive: File) -> bool:
    held, most = archives.read(archive, here.settings.code), here.settings.quotas.code
    is_new = code.keep(here.database, project, digest, archive.read_bytes(), held, most)
    if is_new:
        note("upload code", digest[:12], project=project)
    return is_new


@uploads.get("/v1/code/{digest}")
def get_code(digest: Digest, key: Uploader, here: Here) -> CodeAnswer:
    """Tell what is kept of uploaded code, and so whether it need not be sent again."""
    return code.about(here.database, key.project, digest)


class WorkloadAnswer(Described):
    """A workload that may be asked for."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """A JSON Schema of `params`."""


class WorkloadsAnswer(Described):
    """All workloads by name."""

    workloads: tuple[WorkloadAnswer, ...]


class HealthAnswer(Described):
    """The state of the service in a word."""

    status: str


@operating.get("/v1/workloads")
async def list_workloads(here: Here, _: Reader) -> WorkloadsAnswer:
    """List the registered workloads and their parameters."""
    answers = (
        WorkloadAnswer(
            name=name,
            description=workload.description,
            parameters=workload.parameters.model_json_schema(),
        )
        for name, workload in sorted(here.registry.items())
    )
    return WorkloadsAnswer(workloads=tuple(answers))


@operating.get("/v1/workers")
def list_workers(key: Reader, here: Here) -> WorkersAnswer:
    """List the workers that are there, with what they have, and what each of them does."""
    return WorkersAnswer(workers=here.jobs.workers(key.project))


@operating.get("/healthz")
async def get_liveness() -> HealthAnswer:
    """Check that the process is alive, whatever the state of the database."""
    return HealthAnswer(status="alive")


@operating.get("/readyz")
def get_readiness(here: Here) -> HealthAnswer:
    """Check that the database responds, has the schema of this version, and takes changes."""
    here.jobs.check()
    return HealthAnswer(status="ready")


@operating.get("/metrics", response_class=Response, responses=text_answer("text/plain"))
def get_metrics(here: Here, _: Reader) -> Response:
    """Get request counts and latencies of this process, and jobs by state, for Prometheus."""
    return Response(here.metrics.text(), media_type=METRICS_TYPE)
