"""The pages: the jobs with the form for a new one, one job, and the workers."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from autotune.api.callers import Scope
from autotune.api.errors import IllegalTransition, InvalidTuning, QuotaExceeded
from autotune.api.http.access import Reader, Writer
from autotune.api.http.page.entering import HOME, SEE_OTHER, PageRoute
from autotune.api.http.page.forms import Form, Typed, once, typed_of
from autotune.api.http.page.job import job_view
from autotune.api.http.page.listing import list_view
from autotune.api.http.page.rendering import render
from autotune.api.http.problems import STATUSES
from autotune.api.http.service import Here, TheJobs
from autotune.api.http.tunings import JobId, ListQuery, page_of, taken_in
from autotune.api.values import Job

router = APIRouter(include_in_schema=False, route_class=PageRoute)
Sent = Annotated[Typed, Depends(typed_of)]


def _to(job: Job) -> Response:
    return RedirectResponse(f"/tunings/{job.id}", SEE_OTHER)


@router.get(HOME)
def show_jobs(
    request: Request, query: Annotated[ListQuery, Query()], key: Reader, here: Here
) -> Response:
    form = Form(here.catalog) if Scope.WRITE in key.scopes else None
    page = page_of(here.jobs, key, query)
    return render("jobs.html", request, view=list_view(page, query), form=form)


@router.post(HOME)
def start_job(request: Request, typed: Sent, key: Writer, here: Here) -> Response:
    form, status = Form(here.catalog, typed), 422
    asked = form.request()
    if asked:
        try:
            return _to(taken_in(here.jobs, asked, key, once(typed, asked)))
        except (InvalidTuning, QuotaExceeded) as exc:
            form.refused(exc)
            status = STATUSES[exc.kind]
    view = list_view(page_of(here.jobs, key, ListQuery()), ListQuery())
    return render("jobs.html", request, status, view=view, form=form)


@router.get("/tunings/{job_id}")
def show_job(request: Request, job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    return render("job.html", request, view=job_view(jobs.detail(job_id, key.project)))


@router.post("/tunings/{job_id}")
def cancel_job(job_id: JobId, key: Writer, jobs: TheJobs) -> Response:
    """Cancel a job; one that has ended meanwhile stays as it is."""
    with suppress(IllegalTransition):  # The page shows how it ended.
        jobs.cancel(job_id, key.project)
    return RedirectResponse(f"/tunings/{job_id}", SEE_OTHER)


@router.post("/tunings/{job_id}/repeat")
def repeat_job(job_id: JobId, typed: Sent, key: Writer, jobs: TheJobs) -> Response:
    request = jobs.request(job_id, key.project)
    return _to(taken_in(jobs, request, key, once(typed, request)))


@router.get("/workers")
def show_workers(request: Request, key: Reader, jobs: TheJobs) -> Response:
    return render("workers.html", request, workers=jobs.workers(key.project))
