"""A client of the service: asks for jobs, follows them, and returns their results.

It needs none of the packages of the service.
"""

import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2 as httpx
from pydantic import BaseModel, ValidationError

from autotune.base import Scalar
from autotune.errors import ServiceUnreachable, UsageError, first_mistake
from autotune.events import Notice
from autotune.options import SearchOptions, options_from
from autotune.packing import packed
from autotune.result import Result
from autotune.space import AUTO, Space, load_space, parse_space, ready_made
from autotune.text import cleaned
from autotune.wire.errors import NoRecommendation, NotFound, Problem, ServiceError, UnreadableRecord
from autotune.wire.events import JobEvent
from autotune.wire.jobs import (
    FINAL,
    CodeAnswer,
    Job,
    JobRequest,
    Needs,
    Page,
    Program,
    SeenWorker,
    State,
    WorkersAnswer,
)
from autotune.workload import is_script

__all__ = ["Client"]
KEY = "AUTOTUNE_API_KEY"
"""Variable of the environment that holds the key."""
PATIENCE = 60.0
FIRST_SECONDS = 5.0
"""Time for which an address is tried that has never answered: it may be wrong."""
SHORTEST, LONGEST = 0.2, 5.0
"""Seconds between two tries, and between two looks at a job."""
AWAY = (502, 503, 504)
"""Statuses of a service that is about to come back, or of a proxy before it."""
_TIMEOUT = httpx.Timeout(30.0, read=60.0)  # A stream gives a sign of life four times as often.
SpaceLike = str | Space | Mapping[str, Any]
Answer = TypeVar("Answer", bound=BaseModel)


class Client:
    """Asks a service for tuning jobs.

        with Client("https://tuner.example.org", key) as client:
            job = client.submit("train.py", train_for="6h")
            result = client.result(job)

    Lost connections are tried again; a job is made once, however often its request is sent. Every
    call raises `ServiceUnreachable` if the service does not answer, and what it refuses as an
    error with its cause and next step.

    Args:
        url: Address of the service.
        key: An API key; None takes the variable `AUTOTUNE_API_KEY`, and without it none is sent.
        patience: Seconds for which a service is waited for that has answered before.
        transport: Sends the requests, as httpx has it; None uses the network.

    Raises:
        UsageError: The address or the key cannot be one.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        patience: float = PATIENCE,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        key = key if key is not None else os.environ.get(KEY, "")
        try:
            address = httpx.URL(url)
        except httpx.InvalidURL:
            address = httpx.URL()
        if address.scheme not in ("http", "https") or not address.host:
            message = f"{url!r} is no address of a service."
            raise UsageError(message, "For example: http://localhost:8321")
        if not (key.isascii() and key.isprintable()):
            raise UsageError("The API key has characters that no key has.", "Copy it again.")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            base_url=address, headers=headers, timeout=_TIMEOUT, transport=transport
        )
        self._patience = patience
        self._answered = False

    def submit(  # noqa: PLR0913 - each is a part of the request
        self,
        workload: str,
        params: Mapping[str, Scalar] | None = None,
        *,
        program: Program | None = None,
        space: SpaceLike = AUTO,
        options: SearchOptions | None = None,
        needs: Needs | Mapping[str, Any] | None = None,
        priority: int = 0,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Job:
        """Ask for a job; once this returns, it survives a crash of anything.

        Args:
            workload: A training script, which is uploaded with the working folder; or the name of
                a workload that is registered there.
            params: Parameters of the workload, or of the program's model function.
            program: Uploaded code, as `upload` returned it; then `workload` counts for nothing.
            space: As in `autotune`; a file is read here.
            options: Everything else that a search takes.
            more: The same by name, as `train_for="6h"`; they replace those of the options.
            needs: What the worker must have: `{"kind": "H100", "devices": 2, "labels": ["fast"]}`.
            priority: The job goes before all of lower priority; above 0 needs the scope admin.
            idempotency_key: With the same one the same request makes no second job for a week.

        Raises:
            UsageError: An option or the space is invalid.
            ServiceError: The service refuses the request.
        """
        if program is None and is_script(workload):
            program = self.upload(workload)
        asked: dict[str, Any] = {
            **dict(options_from({**dict(options or SearchOptions()), **more})),
            "workload": "" if program else workload,
            "program": program,
            "params": params or {},
            "space": _space(space),
            "needs": _needs(needs),
            "priority": priority,
        }
        once = idempotency_key or secrets.token_hex(16)
        headers = {"Content-Type": "application/json", "Idempotency-Key": once}
        body = JobRequest(**asked).model_dump_json(exclude_defaults=True)
        return self._ask("POST", "/v1/tunings", Job, content=body, headers=headers)

    def upload(  # noqa: PLR0913 - what `tune` takes
        self,
        model: str,
        dataset: str = "",
        *,
        arguments: Sequence[str] = (),
        fit: str | None = None,
        dataset_params: Mapping[str, Scalar] | None = None,
        folder: str | Path = ".",
        notify: Callable[[str], None] | None = None,
    ) -> Program:
        """Upload a folder, unless the service has the same, and name what of it is tuned.

        Args:
            model: A training script, or a model function, named from the folder's top.
            dataset: The dataset function; empty for a script.
            arguments: Arguments on the script's command line.
            fit: Which `fit` of the script is tuned, where there are several.
            dataset_params: Arguments of the dataset function.
            folder: The folder.
            notify: Takes a sentence on what is about to be sent; None sends without one.

        Raises:
            UsageError: The folder is too large, or cannot be read.
            ServiceError: The service refuses the code.
        """
        code = packed(Path(folder))
        try:
            self._ask("GET", f"/v1/code/{code.digest}", CodeAnswer)
        except NotFound:
            if notify is not None:
                notify(f"Sending {code.summary}.")
            sent = {"content": code.archive, "headers": {"Content-Type": "application/gzip"}}
            self._ask("PUT", f"/v1/code/{code.digest}", CodeAnswer, **sent)
        return Program(
            digest=code.digest,
            model=model,
            dataset=dataset,
            arguments=tuple(arguments),
            fit=fit,
            dataset_params=dict(dataset_params or {}),
        )

    def job(self, job: Job | str) -> Job:
        """Return a job, given itself or its id, as it stands."""
        return self._ask("GET", _path(job), Job)

    def jobs(self, *states: State | str, **wanted: str) -> Iterator[Job]:
        """Yield the jobs that the key may see, newest first, as they are asked for.

        Args:
            states: Only those in one of these; without any, all.
            wanted: Only those of a `workload` or `verdict`.
        """
        query: dict[str, Any] = {"state": states, **wanted}
        while True:
            page = self._ask("GET", "/v1/tunings", Page, params=query)
            yield from page.tunings
            if page.next is None:
                return
            query["before"] = page.next

    def workers(self) -> tuple[SeenWorker, ...]:
        """Return the workers of the service, by name."""
        return self._ask("GET", "/v1/workers", WorkersAnswer).workers

    def wait(self, job: Job | str, seconds: float | None = None) -> Job:
        """Return a job once it has ended, or as it stands after so many seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        pause = SHORTEST
        while True:
            found = self.job(job)
            left = LONGEST if until is None else until - time.monotonic()
            if found.state in FINAL or left <= 0:
                return found
            time.sleep(min(pause, left))
            pause = min(1.5 * pause, LONGEST)

    def cancel(self, job: Job | str) -> Job:
        """Have a job end; it has ended within forty seconds, as a rule within ten."""
        return self._ask("POST", _path(job, "cancel"), Job)

    def result(self, job: Job | str) -> Result:
        """Return the result of a job once it has ended: what `autotune` returns.

        Raises:
            NoRecommendation: It failed, or was cancelled before anything was found.
        """
        ended = self.wait(job)
        if ended.state is State.FAILED:
            raise NoRecommendation(
                f"The job failed: {ended.reason}", "Mend this, and submit the job again."
            )
        return self._ask("GET", _path(job, "result"), Result)

    def download(self, job: Job | str, folder: str | Path) -> Path:
        """Write the files of a job's result, once it has ended, as `Result.save` does."""
        return self.result(job).save(folder)

    def follow(self, job: Job | str, after: int = 0) -> Iterator[JobEvent]:
        """Yield the events of a job as they come, the last one `ended`; a lost stream is resumed.

        Args:
            job: The job, or its id.
            after: Number of the last event that is not wanted.
        """
        over = False
        while not over:
            headers = {"Last-Event-ID": str(after), "Accept": "text/event-stream"}
            request = self._http.build_request("GET", _path(job, "events"), headers=headers)
            with closing(self._sent(request, stream=True)) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                stream = httpx.EventSource(
                    _checked(response, "text/event-stream"), max_event_size=None
                )
                with suppress(httpx.TransportError):
                    for sent in stream:
                        event = _event(sent)
                        after, over = event.number, sent.event == "ended"
                        yield event
            if not over:
                time.sleep(SHORTEST)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, answer: type[Answer], **more: Any) -> Answer:
        response = self._sent(self._http.build_request(method, path, **more))
        return _read(answer, _checked(response, "application/json").text)

    def _sent(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        """Send a request until it is answered; the service is waited for from the first error."""
        patience = self._patience if self._answered else min(FIRST_SECONDS, self._patience)
        until, pause = math.inf, SHORTEST
        while True:
            try:
                response = self._http.send(request, stream=stream)
                if not response.is_success:
                    response.read()
            except httpx.TransportError as exc:
                error: Exception = exc
            else:
                if response.status_code not in AWAY:
                    self._answered = True
                    return response
                error = _error_of(response)
            now = time.monotonic()
            until = min(until, now + patience)
            if now >= until:
                break
            pause = min(2 * pause, LONGEST)
            time.sleep(pause)
        if isinstance(error, httpx.TransportError):
            raise ServiceUnreachable(
                f"The service does not answer: {error or type(error).__name__}.",
                "Check its address, and whether it runs.",
            ) from error
        raise error


def _read(model: type[Answer], text: str) -> Answer:
    """Return an answer; what a later version has added is left out."""
    try:
        return model.model_validate_json(cleaned(text), extra="ignore")
    except (ValueError, RecursionError) as exc:
        raise UnreadableRecord(
            "The answer was written by another version of autotune and cannot be read by this one.",
            "Use the version of the service.",
        ) from exc


def _event(sent: httpx.ServerSentEvent) -> JobEvent:
    try:
        return _read(JobEvent, sent.data)
    except UnreadableRecord as exc:
        if not re.fullmatch("[0-9]{1,18}", sent.id, re.ASCII):
            raise
        return JobEvent(number=int(sent.id), at=0.0, body=Notice(text=exc.cause))


def _checked(response: httpx.Response, media_type: str) -> httpx.Response:
    """Return a response of a media type, or raise the error that it tells of."""
    if not response.is_success:
        raise _error_of(response)
    if response.headers.get("Content-Type", "").partition(";")[0].strip() != media_type:
        raise _no_service(response)
    return response


def _error_of(response: httpx.Response) -> ServiceError | ServiceUnreachable:
    """Return the error that an answer tells of, with the service's cause and next step."""
    try:
        problem = Problem.model_validate_json(cleaned(response.content), extra="ignore")
    except (ValueError, RecursionError):
        return _no_service(response)
    return ServiceError.kinds.get(problem.code, ServiceError)(problem.detail, problem.next_step)


def _no_service(response: httpx.Response) -> ServiceUnreachable:
    return ServiceUnreachable(
        f"What answers at {response.url.copy_with(query=None)} is no autotune service "
        f"(status {response.status_code}).",
        "Check its address.",
    )


def _path(job: Job | str, part: str = "") -> str:
    name = quote(job if isinstance(job, str) else job.id, safe="")
    return f"/v1/tunings/{name}/{part}".rstrip("/")


def _needs(given: Needs | Mapping[str, Any] | None) -> Needs:
    try:
        return Needs.model_validate(given or {})
    except ValidationError as exc:
        message = f"Of the needs, {first_mistake(exc)}."
        raise UsageError(message, "They have devices, kind and labels.") from exc


def _space(given: SpaceLike) -> str | Space:
    if isinstance(given, Mapping):
        return parse_space(dict(given), where="space")
    if isinstance(given, Space) or given in (AUTO, *ready_made()):
        return given
    return load_space(given)
