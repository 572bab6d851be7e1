"""The pages: the jobs, one job, the workers, and signing in and out.

The cookie of a browser holds the secret of a session, not the key: sessions are kept in the
database, as digests, so that they outlive a restart, are known to every API process, and are gone
once they are ended.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from autotune.api.http.access import Reader, Writer, check_origin, cookie_name, session_of
from autotune.api.http.page.rendering import HOME, SEE_OTHER, SIGN_IN, SIGN_OUT, render, safe
from autotune.api.http.page.views import job_view, list_view
from autotune.api.http.problems import STATUSES
from autotune.api.http.service import Here
from autotune.api.http.tunings import JobId
from autotune.api.requests import ListQuery
from autotune.wire.errors import IllegalTransition, KeyRefused, ScopeMissing

SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""
router = APIRouter(include_in_schema=False)


async def typed_of(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    try:
        text = (await request.body()).decode("ascii")
        found = parse_qsl(text, errors="strict", max_num_fields=500)
    except ValueError as exc:
        raise HTTPException(400, "There was an error parsing the body") from exc
    return {name: value.strip() for name, value in found}


@router.get(HOME)
def show_jobs(
    request: Request, query: Annotated[ListQuery, Query()], key: Reader, here: Here
) -> Response:
    page = here.jobs.page(key.project, query)
    return render("jobs.html", request, view=list_view(page, query))


@router.get("/tunings/{job_id}")
def show_job(request: Request, job_id: JobId, key: Reader, here: Here) -> Response:
    return render("job.html", request, view=job_view(here.jobs.detail(job_id, key.project)))


@router.post("/tunings/{job_id}")
def cancel_job(job_id: JobId, key: Writer, here: Here) -> Response:
    """Cancel a job; one that has ended meanwhile stays as it is."""
    with suppress(IllegalTransition):  # The page shows how it ended.
        here.jobs.cancel(job_id, key.project)
    return RedirectResponse(f"/tunings/{job_id}", SEE_OTHER)


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
