"""The pages: the jobs with the form for a new one, and one job."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator
from starlette.responses import RedirectResponse, Response

from autotune.api.callers import Caller, Scope
from autotune.api.errors import IllegalTransition, ServiceError
from autotune.api.http.access import Reader, Writer
from autotune.api.http.page.addresses import COMPARE, HOME, WORKERS, job_page, repeat_page
from autotune.api.http.page.comparison import comparison_view, pair_of
from autotune.api.http.page.entering import SEE_OTHER, PageRoute
from autotune.api.http.page.fields import Typed, typed_of
from autotune.api.http.page.form import (
    FormError,
    FormView,
    asked_from,
    form_view,
    of_service,
    repeatable,
)
from autotune.api.http.page.job import job_view
from autotune.api.http.page.listing import list_view
from autotune.api.http.page.rendering import frame_for, render
from autotune.api.http.service import Here, Service, TheJobs
from autotune.api.http.tunings import (
    JobId,
    ListQuery,
    cancelled,
    checked_id,
    page_of,
    taken_in,
)
from autotune.api.store.jobs import MOST_JOBS
from autotune.api.values import Job

router = APIRouter(include_in_schema=False, route_class=PageRoute)
ChosenId = Annotated[str, AfterValidator(checked_id)]


@router.get(HOME)
def home(query: Annotated[ListQuery, Query()], key: Reader, here: Here) -> Response:
    """Show the jobs, newest first, and the form for a new one."""
    form = form_view(here.catalog) if Scope.WRITE in key.scopes else None
    return _listed(here, key, query, form)


@router.post(HOME)
def start(typed: Annotated[Typed, Depends(typed_of)], key: Writer, here: Here) -> Response:
    """Ask for a job; what is wrong is shown at its field, and nothing that was typed is lost."""
    try:
        job = _submitted(typed, key, here)
    except FormError as exc:
        form = form_view(here.catalog, typed, exc.mistakes)
        return _listed(here, key, ListQuery(), form, exc.status)
    return RedirectResponse(job_page(job.id), SEE_OTHER)


@router.get(job_page("{job_id}"))
def job(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Show a job."""
    story = jobs.story(job_id, key.project)
    return render("job.html", job_view(story), frame_for(key, story.job.project))


@router.post(job_page("{job_id}"))
def cancel(job_id: JobId, key: Writer, jobs: TheJobs) -> Response:
    """Cancel a job; one that has ended meanwhile stays as it is."""
    with suppress(IllegalTransition):  # The page shows how it ended.
        cancelled(jobs, job_id, key)
    return RedirectResponse(job_page(job_id), SEE_OTHER)


@router.post(repeat_page("{job_id}"))
def repeat(
    job_id: JobId, typed: Annotated[Typed, Depends(typed_of)], key: Writer, jobs: TheJobs
) -> Response:
    """Ask for the same again; the new job is shown."""
    request = jobs.request(job_id, key.project)
    job = taken_in(jobs, request, key, repeatable(typed, request))
    return RedirectResponse(job_page(job.id), SEE_OTHER)


@router.get(COMPARE)
def compare(
    job: Annotated[list[ChosenId], Query(max_length=MOST_JOBS)], key: Reader, jobs: TheJobs
) -> Response:
    """Show two jobs side by side."""
    view = comparison_view(jobs.comparison(*pair_of(job), key.project))
    return render("compare.html", view, frame_for(key))


@router.get(WORKERS)
def workers(key: Reader, jobs: TheJobs) -> Response:
    """Show the workers."""
    return render("workers.html", jobs.workers(key.project), frame_for(key))


def _submitted(typed: Typed, key: Caller, here: Service) -> Job:
    asked = asked_from(typed, here.catalog)
    try:
        return taken_in(here.jobs, asked, key, repeatable(typed, asked))
    except ServiceError as exc:
        raise of_service(exc) from exc


def _listed(
    here: Service, key: Caller, query: ListQuery, form: FormView | None, status: int = 200
) -> Response:
    page = page_of(here.jobs, key, query)
    return render("jobs.html", list_view(page, query, form), frame_for(key), status)
