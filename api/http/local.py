"""The pages of the service over results on this machine: read only, without database or keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import uvicorn
from fastapi import FastAPI, Request
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response

from autotune.api.errors import NotFound, no_such_job
from autotune.api.http import files
from autotune.api.http.access import LOOPBACK
from autotune.api.http.app import listening
from autotune.api.http.middleware import HEADERS
from autotune.api.http.page import rendering, routes
from autotune.api.http.problems import HANDLED
from autotune.api.identity import FOLDERS
from autotune.api.requests import ListQuery
from autotune.api.states import State
from autotune.api.values import LOCAL_PROJECT, Job, JobDetail, Page, answer_of
from autotune.errors import ConfigurationError
from autotune.result import Result
from autotune.result.saved import RESULT
from autotune.trial import Trial

HOST = "127.0.0.1"
MOST_PRINTED = 100_000
"""Characters of what a trial printed last that are shown."""


def show(folders: Iterable[Path], port: int, ready: Callable[[str], None]) -> None:
    """Serve the pages until Ctrl-C.

    Raises:
        ConfigurationError: No result is there.
    """
    found = Folders(folders)
    with listening(HOST, port) as bound:
        ready(f"http://{HOST}:{bound.getsockname()[1]}")
        config = uvicorn.Config(create_app(found), log_config=None, access_log=False)
        uvicorn.Server(config).run([bound])


def create_app(folders: Folders) -> FastAPI:
    app = FastAPI(
        openapi_url=None,
        middleware=[
            Middleware(GZipMiddleware),
            Middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK], www_redirect=False),
            Middleware(BaseHTTPMiddleware, dispatch=_answer),
        ],
        exception_handlers=dict.fromkeys(HANDLED, rendering.refuse),
    )
    app.state.service = SimpleNamespace(jobs=folders)
    for each in (routes.reading, files.router, rendering.assets):
        app.include_router(each)
    return app


async def _answer(request: Request, answer: RequestResponseEndpoint) -> Response:
    request.state.key = FOLDERS
    response = await answer(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


class Folders:
    """Folders with results, as the store of the service's jobs is read.

    Args:
        folders: Each holds a result, or folders that do.

    Raises:
        ConfigurationError: No result is there.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._given = tuple(folders)
        if not self._found():
            listed = " and ".join(map(str, self._given))
            raise ConfigurationError(
                f"{listed} holds no result.",
                "Name a folder that `autotune tune` or `result.save()` has written.",
            )

    def page(self, project: str | None, wanted: ListQuery | None = None) -> Page:
        """Return all of them, the newest first."""
        del project, wanted
        jobs = [_job(folder, _result(folder)) for folder in self._found().values()]
        jobs.sort(key=lambda each: each.created_at, reverse=True)
        return Page(tunings=tuple(jobs), next=None)

    def detail(self, job_id: str, project: str | None) -> JobDetail:
        result = self.recommendation(job_id, project)
        job = _job(self._folder(job_id), result)
        return JobDetail(
            job=job, trials=result.trials, events=(), spent=result.seconds, recommendation=result
        )

    def recommendation(self, job_id: str, project: str | None) -> Result:
        """Return a result whose trials have what they printed."""
        del project
        folder = self._folder(job_id)
        result = _result(folder)
        trials = tuple(
            _with_output(each, folder / "trials" / result.study) for each in result.trials
        )
        return result.model_copy(update={"trials": trials})

    def trial(self, job_id: str, project: str | None, number: int) -> Trial:
        trials = self.recommendation(job_id, project).trials
        found = next((each for each in trials if each.number == number), None)
        if found is None:
            raise NotFound("There is no such trial.", "Take a number from the list of trials.")
        return found

    def _folder(self, job_id: str) -> Path:
        folder = self._found().get(job_id)
        if folder is None:
            raise no_such_job()
        return folder

    def _found(self) -> dict[str, Path]:
        return {_id(each): each for given in self._given for each in _folders(given)}


def _folders(given: Path) -> Iterator[Path]:
    inner = given.iterdir() if given.is_dir() else ()
    yield from (each for each in (given, *inner) if (each / RESULT).is_file())


def _id(folder: Path) -> str:
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]


def _result(folder: Path) -> Result:
    return _read(folder, (folder / RESULT).stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(folder: Path, changed: int) -> Result:
    del changed
    return Result.load(folder)


def _job(folder: Path, result: Result) -> Job:
    ended = (folder / RESULT).stat().st_mtime
    return Job(
        **result.options.model_dump(),
        workload=result.workload.name,
        params={"folder": str(folder)},
        space=result.space or "made in Python",
        id=_id(folder),
        project=LOCAL_PROJECT,
        state=State.DONE,
        attempt=1,
        events=0,
        trials=len(result.trials),
        one_device=None,
        distributed=None,
        created_at=ended - result.seconds,
        started_at=ended - result.seconds,
        ended_at=ended,
        **answer_of(result),
        reason=None,
    )


def _with_output(trial: Trial, folder: Path) -> Trial:
    printed = sorted((folder / f"{trial.number:04}").glob("output-*.txt"))
    text = "\n".join(each.read_text("utf-8", "replace") for each in printed)
    return trial.model_copy(update={"detail": text[-MOST_PRINTED:]}) if text else trial
