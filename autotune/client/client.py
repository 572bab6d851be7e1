"""The client, for programs that wait and for those that do not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import httpx2 as httpx
from pydantic import TypeAdapter, ValidationError

from autotune.api.comparison import Comparison
from autotune.api.labels import JobLabels, selectors
from autotune.api.needs import Needs
from autotune.api.requests import JobRequest
from autotune.api.states import State
from autotune.api.values import Job, JobEvent, SeenWorker
from autotune.client.calls import Calls, Returned, Steps
from autotune.errors import UsageError, first_mistake
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.space import AUTO, Space, load_space, parse_space, ready_made
from autotune.value import Scalar

KEY = "AUTOTUNE_API_KEY"
"""Variable of the environment that holds the key."""
PATIENCE = 60.0
_TIMEOUT = httpx.Timeout(30.0, read=60.0)  # A stream gives a sign of life four times as often.
_LABELS = TypeAdapter(JobLabels)
SpaceLike = str | Space | Mapping[str, Any]


class Client:
    """Asks a service for tuning jobs.

        with Client("https://tuner.example.org", key) as client:
            job = client.submit("digits", {"filters": 64}, budget="3min")
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
        self._http = httpx.Client(**_connection(url, key), transport=transport)
        self._calls = Calls(self._http.build_request, patience)

    def submit(  # noqa: PLR0913 - each is a part of the request
        self,
        workload: str,
        params: Mapping[str, Scalar] | None = None,
        *,
        space: SpaceLike = AUTO,
        budget: str | float | None = None,
        options: SearchOptions | None = None,
        needs: Needs | Mapping[str, Any] | None = None,
        priority: int = 0,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Ask for a job; once this returns, it survives a crash of anything.

        Args:
            workload: Name of a workload that is registered there.
            params: Parameters of the workload.
            space: As in `autotune`; a file is read here.
            budget: Time limit; replaces the budget of the options.
            options: Everything else that a search can be told.
            needs: What the worker must have: `{"kind": "H100", "devices": 2, "labels": ["fast"]}`.
            priority: The job goes before all of lower priority; above 0 needs the scope admin.
            labels: Of the job, by which `jobs` finds it: `{"team": "vision"}`.
            idempotency_key: With the same one the same request makes no second job for a week.

        Raises:
            UsageError: An option, a label or the space is invalid.
            ServiceError: The service refuses the request.
        """
        turn = _turn(needs, priority, labels)
        request = job_request(workload, params, space, budget, options, turn)
        return self._run(self._calls.submit(request, idempotency_key))

    def repeat(self, job: Job | str, *, idempotency_key: str | None = None) -> Job:
        """Ask for a job of the same request as another one, given itself or its id.

        Args:
            job: The job, or its id.
            idempotency_key: As for `submit`.

        Raises:
            ServiceError: The service refuses the request, as it is now.
        """
        return self._run(self._calls.repeat(job, idempotency_key))

    def job(self, job: Job | str) -> Job:
        """Return a job, given itself or its id, as it stands."""
        return self._run(self._calls.get(job))

    def jobs(
        self,
        *states: State | str,
        labels: Mapping[str, str] | None = None,
        **wanted: str | datetime,
    ) -> Iterator[Job]:
        """Yield the jobs that the key may see, newest first, as they are asked for.

        Args:
            states: Only those in one of these; without any, all.
            labels: Only those with all of these labels.
            wanted: Only those of a `workload` or `verdict`, or created `since` and
                `until` some time.
        """
        before, more = None, True
        while more:
            query = {"state": states, "label": selectors(labels or {}), **wanted}
            page = self._run(self._calls.page(query, before))
            yield from page.tunings
            before, more = page.next, page.next is not None

    def compare(self, job: Job | str, other: Job | str) -> Comparison:
        """Return two jobs beside each other: what differs, and why not to compare their figures."""
        return self._run(self._calls.compare(job, other))

    def workers(self) -> tuple[SeenWorker, ...]:
        """Return the workers of the service, by name."""
        return self._run(self._calls.workers())

    def wait(self, job: Job | str, seconds: float | None = None) -> Job:
        """Return a job once it has ended, or as it stands after so many seconds."""
        return self._run(self._calls.wait(job, seconds))

    def cancel(self, job: Job | str) -> Job:
        """Have a job end; it has ended within ten seconds."""
        return self._run(self._calls.cancel(job))

    def result(self, job: Job | str) -> Result:
        """Return the result of a job once it has ended: what `autotune` returns.

        Raises:
            NoRecommendation: It failed, or was cancelled before anything was found.
        """
        return self._run(self._calls.result(job))

    def download(self, job: Job | str, folder: str | Path) -> Path:
        """Write the files of a job's result, once it has ended, as `Result.save` does."""
        return self.result(job).save(folder)

    def follow(self, job: Job | str, after: int = 0) -> Iterator[JobEvent]:
        """Yield the events of a job as they come, the last one `ended`; a lost stream is resumed.

        Args:
            job: The job, or its id.
            after: Number of the last event that is not wanted.
        """
        stream = self._calls.stream(job, after)
        while not stream.over:
            lost = None
            try:
                with self._http.stream(**stream.request()) as response:
                    if not response.is_success:
                        response.read()
                    stream.begin(response)
                    source = httpx.EventSource(response, max_event_size=None)
                    for each in () if stream.over else source:
                        yield stream.event(each)
            except httpx.TransportError as exc:
                lost = exc
            if not stream.over:
                time.sleep(stream.pause(lost))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _run(self, steps: Steps[Returned]) -> Returned:
        try:
            step = next(steps)
            while True:
                try:
                    step = steps.send(self._take(step))
                except httpx.TransportError as exc:
                    step = steps.throw(exc)
        except StopIteration as end:
            returned: Returned = end.value
            return returned

    def _take(self, step: httpx.Request | float) -> httpx.Response | None:
        if isinstance(step, httpx.Request):
            return self._http.send(step)
        time.sleep(step)
        return None


class AsyncClient:
    """Asks a service for tuning jobs, as `Client` does, in an event loop.

        async with AsyncClient("https://tuner.example.org", key) as client:
            job = await client.submit("digits", {"filters": 64}, budget="3min")
            result = await client.result(job)

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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(**_connection(url, key), transport=transport)
        self._calls = Calls(self._http.build_request, patience)

    async def submit(  # noqa: PLR0913 - each is a part of the request
        self,
        workload: str,
        params: Mapping[str, Scalar] | None = None,
        *,
        space: SpaceLike = AUTO,
        budget: str | float | None = None,
        options: SearchOptions | None = None,
        needs: Needs | Mapping[str, Any] | None = None,
        priority: int = 0,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Job:
        """Ask for a job, as `Client.submit` does."""
        turn = _turn(needs, priority, labels)
        request = job_request(workload, params, space, budget, options, turn)
        return await self._run(self._calls.submit(request, idempotency_key))

    async def repeat(self, job: Job | str, *, idempotency_key: str | None = None) -> Job:
        """Ask for a job of the same request as another one, as `Client.repeat` does."""
        return await self._run(self._calls.repeat(job, idempotency_key))

    async def job(self, job: Job | str) -> Job:
        """Return a job, given itself or its id, as it stands."""
        return await self._run(self._calls.get(job))

    async def jobs(
        self,
        *states: State | str,
        labels: Mapping[str, str] | None = None,
        **wanted: str | datetime,
    ) -> AsyncIterator[Job]:
        """Yield the jobs that the key may see, as `Client.jobs` does."""
        before, more = None, True
        while more:
            query = {"state": states, "label": selectors(labels or {}), **wanted}
            page = await self._run(self._calls.page(query, before))
            for each in page.tunings:
                yield each
            before, more = page.next, page.next is not None

    async def compare(self, job: Job | str, other: Job | str) -> Comparison:
        """Return two jobs beside each other, as `Client.compare` does."""
        return await self._run(self._calls.compare(job, other))

    async def workers(self) -> tuple[SeenWorker, ...]:
        """Return the workers of the service, by name."""
        return await self._run(self._calls.workers())

    async def wait(self, job: Job | str, seconds: float | None = None) -> Job:
        """Return a job once it has ended, or as it stands after so many seconds."""
        return await self._run(self._calls.wait(job, seconds))

    async def cancel(self, job: Job | str) -> Job:
        """Have a job end; it has ended within ten seconds."""
        return await self._run(self._calls.cancel(job))

    async def result(self, job: Job | str) -> Result:
        """Return the result of a job once it has ended, as `Client.result` does."""
        return await self._run(self._calls.result(job))

    async def download(self, job: Job | str, folder: str | Path) -> Path:
        """Write the files of a job's result, once it has ended, as `Result.save` does."""
        return (await self.result(job)).save(folder)

    async def follow(self, job: Job | str, after: int = 0) -> AsyncIterator[JobEvent]:
        """Yield the events of a job as they come, as `Client.follow` does."""
        stream = self._calls.stream(job, after)
        while not stream.over:
            lost = None
            try:
                async with self._http.stream(**stream.request()) as response:
                    if not response.is_success:
                        await response.aread()
                    stream.begin(response)
                    if not stream.over:
                        async for each in httpx.EventSource(response, max_event_size=None):
                            yield stream.event(each)
            except httpx.TransportError as exc:
                lost = exc
            if not stream.over:
                await asyncio.sleep(stream.pause(lost))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def _run(self, steps: Steps[Returned]) -> Returned:
        try:
            step = next(steps)
            while True:
                try:
                    step = steps.send(await self._take(step))
                except httpx.TransportError as exc:
                    step = steps.throw(exc)
        except StopIteration as end:
            returned: Returned = end.value
            return returned

    async def _take(self, step: httpx.Request | float) -> httpx.Response | None:
        if isinstance(step, httpx.Request):
            return await self._http.send(step)
        await asyncio.sleep(step)
        return None


def job_request(
    workload: str,
    params: Mapping[str, Scalar] | None,
    space: SpaceLike,
    budget: str | float | None,
    options: SearchOptions | None,
    turn: Mapping[str, Any],
) -> JobRequest:
    """Return a request as the service takes it.

    Raises:
        UsageError: An option, the space or a need is invalid.
    """
    given = {**dict(options or SearchOptions()), **turn}
    if budget is not None:
        given["budget"] = budget
    found = _space(space)
    return JobRequest(workload=workload, params=dict(params or {}), space=found, **given)


def _turn(
    needs: Needs | Mapping[str, Any] | None, priority: int, labels: Mapping[str, str] | None
) -> dict[str, Any]:
    try:
        found = _LABELS.validate_python(dict(labels or {}))
    except ValidationError as exc:
        told = f"Of the labels, {first_mistake(exc)}."
        raise UsageError(told, 'For example: {"team": "vision"}.') from exc
    return {"needs": _needs(needs), "priority": priority, "labels": found}


def _needs(given: Needs | Mapping[str, Any] | None) -> Needs:
    try:
        return Needs.model_validate(given or {})
    except ValidationError as exc:
        told = f"Of the needs, {first_mistake(exc)}."
        raise UsageError(told, "They have devices, kind and labels.") from exc


def _space(given: SpaceLike) -> str | Space:
    if isinstance(given, Mapping):
        return parse_space(dict(given), where="space")
    if isinstance(given, Space) or given in (AUTO, *ready_made()):
        return given
    return load_space(given)


def _connection(url: str, key: str | None) -> dict[str, Any]:
    key = key if key is not None else os.environ.get(KEY, "")
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as exc:
        raise _no_address(url) from exc
    if address.scheme not in ("http", "https") or not address.host:
        raise _no_address(url)
    if not (key.isascii() and key.isprintable()):
        raise UsageError("The API key has characters that no key has.", "Copy it again.")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return {"base_url": address, "headers": headers, "timeout": _TIMEOUT}


def _no_address(url: str) -> UsageError:
    return UsageError(f"{url!r} is no address of a service.", "For example: http://localhost:8321")
