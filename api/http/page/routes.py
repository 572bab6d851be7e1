"""The pages: the jobs with the form for a new one, one job, the workers, and signing in and out.

The cookie of a browser holds the secret of a session, not the key: sessions are kept in the
database, as digests, so that they outlive a restart, are known to every API process, and are gone
once they are ended.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import (
    IllegalTransition,
    InvalidTuning,
    KeyRefused,
    QuotaExceeded,
    ScopeMissing,
)
from autotune.api.http.access import Reader, Writer, check_origin, cookie_name, session_of
from autotune.api.http.page.forms import Form, once, typed_of
from autotune.api.http.page.rendering import HOME, SEE_OTHER, SIGN_IN, SIGN_OUT, render, safe
from autotune.api.http.page.views import compare_view, job_view, list_view
from autotune.api.http.problems import STATUSES
from autotune.api.http.service import Here
from autotune.api.http.tunings import JobId, taken_in
from autotune.api.identity import Scope
from autotune.api.requests import ListQuery
from autotune.api.values import Job

SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""
router = APIRouter(include_in_schema=False)
reading = APIRouter(include_in_schema=False)
"""The pages that only read jobs."""
Sent = Annotated[QueryParams, Depends(typed_of)]


def _to(job: Job) -> Response:
    return RedirectResponse(f"/tunings/{job.id}", SEE_OTHER)


@reading.get(HOME)
def show_jobs(
    request: Request, query: Annotated[ListQuery, Query()], key: Reader, here: Here
) -> Response:
    form = Form(here) if Scope.WRITE in key.scopes else None
    page = here.jobs.page(key.project, query)
    return render("jobs.html", request, view=list_view(page, query), form=form)


@router.post(HOME)
def start_job(request: Request, typed: Sent, key: Writer, here: Here) -> Response:
    form, status = Form(here, typed), 422
    asked = form.request()
    if asked:
        try:
            return _to(taken_in(here.jobs, asked, key, once(typed, asked)))
        except (InvalidTuning, QuotaExceeded) as exc:
            form.refused(exc)
            status = STATUSES[exc.kind]
    view = list_view(here.jobs.page(key.project), ListQuery())
    return render("jobs.html", request, status, view=view, form=form)


@reading.get("/tunings/{job_id}")
def show_job(request: Request, job_id: JobId, key: Reader, here: Here) -> Response:
    return render("job.html", request, view=job_view(here.jobs.detail(job_id, key.project)))


@reading.get("/compare")
def compare_jobs(
    request: Request,
    key: Reader,
    here: Here,
    job: Annotated[list[JobId], Query(max_length=8)] = [],  # noqa: B006 - only read
) -> Response:
    details = [here.jobs.detail(each, key.project) for each in dict.fromkeys(job)]
    return render("compare.html", request, jobs=compare_view(details))


router.include_router(reading)


@router.post("/tunings/{job_id}")
def cancel_job(job_id: JobId, key: Writer, here: Here) -> Response:
    """Cancel a job; one that has ended meanwhile stays as it is."""
    with suppress(IllegalTransition):  # The page shows how it ended.
        here.jobs.cancel(job_id, key.project)
    return RedirectResponse(f"/tunings/{job_id}", SEE_OTHER)


@router.post("/tunings/{job_id}/repeat")
def repeat_job(job_id: JobId, typed: Sent, key: Writer, here: Here) -> Response:
    request = here.jobs.request(job_id, key.project)
    return _to(taken_in(here.jobs, request, key, once(typed, request)))


@router.get("/workers")
def show_workers(request: Request, key: Reader, here: Here) -> Response:
    return render("workers.html", request, workers=here.jobs.workers(key.project))


@router.get(SIGN_IN)
async def ask(
    request: Request, here: Here, wanted: Annotated[str, Query(alias="next")] = HOME
) -> Response:
    if here.keyring is None:
        return RedirectResponse(safe(wanted), SEE_OTHER)
    return render("sign-in.html", request, next=safe(wanted), error="")


@router.post(SIGN_IN)
async def sign_in(request: Request, here: Here) -> Response:
    check_origin(request, proven=True)
    typed = await typed_of(request)
    wanted = safe(typed.get("next", ""))
    response = RedirectResponse(wanted, SEE_OTHER)
    if here.keyring is None:
        return response
    try:
        session = await run_in_threadpool(
            here.keyring.sign_in, typed.get("key", ""), SESSION_SECONDS
        )
    except (KeyRefused, ScopeMissing) as exc:
        status = STATUSES[exc.kind]
        return render("sign-in.html", request, status, next=wanted, error=str(exc))
    # Away from scripts and from what other sites send; a link on another site leads to its page.
    response.set_cookie(
        cookie_name(request),
        session,
        max_age=SESSION_SECONDS,
        secure=_is_secure(request),
        httponly=True,
        samesite="lax",
    )
    return response


@router.post(SIGN_OUT)
def sign_out(request: Request, here: Here, _: Reader) -> Response:
    session = session_of(request)
    if session and here.keyring:
        here.keyring.sign_out(session)
    response = RedirectResponse(SIGN_IN, SEE_OTHER)
    secure = _is_secure(request)
    response.delete_cookie(cookie_name(request), secure=secure, httponly=True, samesite="lax")
    return response


def _is_secure(request: Request) -> bool:
    """Return whether the browser speaks TLS, if only with a server that stands before this one."""
    origin = request.headers.get("origin", "")
    return request.url.scheme == "https" or origin.startswith("https://")
