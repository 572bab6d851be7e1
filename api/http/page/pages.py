"""The pages: the jobs, one job, the workers, and signing in and out; errors; and the files of all.

Templates become pages; the style sheet, the icon and the scripts are beside them. The cookie of a
browser holds the secret of a session, not the key: sessions are kept in the database, as digests,
so that they outlive a restart, are known to every API process, and are gone once they are ended.
"""

import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, get_args
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query, Request
from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response

from autotune.answer import Answer, Verdict
from autotune.api.http.access import (
    EVERYBODY,
    Reader,
    Writer,
    check_origin,
    cookie_name,
    session_of,
)
from autotune.api.http.problems import STATUSES, response_to, route_of
from autotune.api.http.rest import JobId
from autotune.api.http.service import Here
from autotune.api.identity import PERSON, Caller, Scope
from autotune.api.requests import ListQuery
from autotune.api.store.jobs import JobDetail
from autotune.api.values import LOCAL_PROJECT
from autotune.events import Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.result import Result
from autotune.result.files import PROGRAMS, programs
from autotune.result.html import SCRIPT, STYLE, environment, part, parts, parts_so_far
from autotune.result.view import PHASES, Figure, expected, figure
from autotune.stats.intervals import rate_with_error, share
from autotune.strategies import in_short
from autotune.text import clock, plural, rate, roughly, sentence
from autotune.wire.errors import IllegalTransition, KeyRefused, Problem, ScopeMissing
from autotune.wire.events import Claimed, Event, Released, sentence_of
from autotune.wire.jobs import FINAL, Job, Page, State, Tuning, moment

SCRIPTS = {SCRIPT, "page.js", "docs.js"}
MEDIA_TYPES = dict.fromkeys(SCRIPTS, "text/javascript") | {
    STYLE: "text/css",
    "icon.svg": "image/svg+xml",
}
SWAGGER = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
KEPT = "private, max-age=31536000, immutable"
"""An address holds a digest of the content, so that a browser may keep it."""
# The usual `no-referrer` would have browsers send forms from an origin that they call `null`.
HEADERS = {"Referrer-Policy": "same-origin"}
# The usual policy, and the pictures within Swagger UI's style sheet.
DOCS_POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
HOME, SIGN_IN, SIGN_OUT = "/", "/sign-in", "/sign-out"
SEE_OTHER = 303
_PAGES = re.compile("/(?:sign-in|sign-out|workers)?|/tunings/.*")
# An allow-list: whatever else a link names may lead to another site, or change something.
_NEXT = re.compile(r"/(?:tunings/[0-9a-f]{24}|workers)?(?:\?[\w=&.+%-]{0,500})?", re.ASCII)
SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""
router = APIRouter(include_in_schema=False)


@cache
def content(name: str) -> bytes:
    """Return a file; the report has the same style sheet, and the same script to copy."""
    if name in (STYLE, SCRIPT):
        return part(name).encode()
    place = "fastapi_offline" if name in SWAGGER else __package__
    return files(place or "").joinpath("static", name).read_bytes()


_zipped = cache(gzip.compress)


def constant(request: HTTPConnection, made: bytes, media_type: str, keep: str = "") -> Response:
    """Answer with what is the same for everybody: it is compressed once."""
    headers = {"Vary": "Accept-Encoding", **({"Cache-Control": keep} if keep else {})}
    if "gzip" in request.headers.get("accept-encoding", ""):
        made, headers["Content-Encoding"] = _zipped(made), "gzip"
    return Response(made, media_type=media_type, headers=headers)


@cache
def address(name: str) -> str:
    """Return where a file is; another content has another address."""
    mark = hashlib.sha256(content(name)).hexdigest()[:12]
    return f"/page/{name}?v={mark}"


@router.get("/page/{name}")
async def show_file(request: Request, name: str) -> Response:
    """Get a file; the page that asks for a key needs them, too."""
    if name not in MEDIA_TYPES:
        raise HTTPException(404)
    return constant(request, content(name), MEDIA_TYPES[name], KEPT)


@router.get("/docs/files/{name}")
async def show_swagger(request: Request, name: str) -> Response:
    """Get a file of Swagger UI."""
    if name not in SWAGGER:
        raise HTTPException(404)
    return constant(request, content(name), SWAGGER[name])


@router.get("/docs")
async def show_docs(request: Request) -> Response:
    page = render("docs.html", request)
    page.headers["Content-Security-Policy"] = DOCS_POLICY
    return page


def render(
    template: str, connection: HTTPConnection, status: int = 200, **shown: Any
) -> HTMLResponse:
    key: Caller | None = getattr(connection.state, "key", None)
    who = {
        "key": key,
        "person": key is not None and key.id.startswith(PERSON),
        "known": key not in (None, EVERYBODY),
        "may_write": key is not None and Scope.WRITE in key.scopes,
    }
    text = _environment().get_template(template).render(who=who, **shown)
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def _environment() -> Environment:
    made = environment(__package__ or "")
    made.globals |= {"asset": address, "FINAL": FINAL}
    made.filters |= {"at": moment, "clock": clock, "roughly": roughly}
    return made


async def refuse(connection: HTTPConnection, error: Exception) -> Response:
    """Answer an error: people get a page, or are sent to sign in; programs get problem details."""
    plain = response_to(error, route_of(connection.scope))
    if not _PAGES.fullmatch(connection.scope["path"]):
        return plain
    if isinstance(error, KeyRefused):
        url = connection.url
        wanted = safe(f"{url.path}?{url.query}" if url.query else url.path)
        query = "" if wanted == HOME else f"?{urlencode({'next': wanted})}"
        return RedirectResponse(f"{SIGN_IN}{query}", SEE_OTHER)
    problem = Problem.model_validate_json(bytes(plain.body))
    return render("problem.html", connection, plain.status_code, problem=problem)


def safe(wanted: str) -> str:
    """Return an address within the pages: the one that is wanted, or the first page's."""
    return wanted if _NEXT.fullmatch(wanted) else HOME


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


FILTERS: Mapping[str, list[State]] = {
    "All": [],
    "Waiting": [State.QUEUED],
    "Running": [State.RUNNING, State.CANCELLING],
    "Done": [State.DONE],
    "Failed": [State.FAILED],
    "Cancelled": [State.CANCELLED],
}
KINDS = tuple(kind.model_fields["kind"].default for kind in get_args(get_args(Event)[0]))
_APART = {"workload", "params", "space", "budget"}
"""Fields of a request that have places of their own among the facts."""
_STATES = {
    State.QUEUED: "Waiting for a worker",
    State.CANCELLING: "Being cancelled",
    State.DONE: "Done",
    State.CANCELLED: "Cancelled",
    State.FAILED: "Failed",
}


def list_view(page: Page, query: ListQuery) -> dict[str, Any]:
    """Return what the list shows."""
    first = query.model_copy(update={"before": None})
    workloads = sorted({*filter(None, [query.workload]), *(job.workload for job in page.tunings)})
    choices: dict[str, Mapping[str, Any]] = {
        "state": FILTERS,
        "workload": {"Any workload": None, **{each: each for each in workloads}},
        "verdict": {"Any answer": None, **{str(each).capitalize(): each for each in Verdict}},
    }
    return {
        "jobs": tuple(map(_row, page.tunings)),
        "filters": {
            name: [
                (text, _address(first, **{name: each}), each == getattr(query, name))
                for text, each in found.items()
            ]
            for name, found in choices.items()
        },
        "all": query == ListQuery(),
        "newest": _address(first) if query.before else None,
        "older": _address(first, before=page.next) if page.next else None,
        "unfinished": any(job.state not in FINAL for job in page.tunings),
    }


def _address(query: ListQuery, **changes: Any) -> str:
    asked = query.model_copy(update=changes).model_dump(mode="json", exclude_defaults=True)
    return f"/?{urlencode(asked, doseq=True)}" if asked else "/"


def _params_text(job: Job) -> str:
    return ", ".join(f"{name}={value}" for name, value in job.params.items())


def _space_name(job: Job) -> str:
    return job.space if isinstance(job.space, str) else job.space.name


def _row(job: Job) -> dict[str, Any]:
    budget = f"budget {roughly(job.seconds)}" if job.budget else ""
    return {
        "job": job,
        "settings": ", ".join(
            filter(None, (_params_text(job), f"space {_space_name(job)}", budget))
        ),
        "short": job.summary or job.reason or _so_far(job),
        "took": clock(job.ended_at - job.started_at) if job.ended_at and job.started_at else "",
    }


def _so_far(job: Job) -> str:
    if job.state in FINAL or not job.trials:
        return ""
    best = {"one device": job.one_device, "distributed": job.distributed}
    found = [f"{name} {rate(value)}" for name, value in best.items() if value]
    figures = f"; best so far, in examples/s: {', '.join(found)}" if found else ""
    return f"{plural(job.trials, 'trial')}{figures}"


def job_view(detail: JobDetail) -> dict[str, Any]:
    """Return what the page of a job shows; `kinds` are the events by which it is followed."""
    job, found = detail.job, detail.recommendation
    phases = filter(None, (_phase_of(event.body) for event in reversed(detail.events)))
    phase = _STATES.get(job.state) or next(phases, "Running")
    ended = (each.body for each in reversed(detail.events) if isinstance(each.body, TrialEnded))
    answer = next((each.answer for each in ended if each.answer), None)
    began = None if job.waiting else job.started_at
    moments = {"Created": job.created_at, "Began": began, "Ended": job.ended_at}
    return {
        "job": job,
        "phase": phase,
        "free": _free(detail),
        "news": " ".join(filter(None, (sentence(phase), job.summary or job.reason))),
        "kinds": KINDS,
        "spent": round(min(detail.spent, job.seconds), 1),
        "ticking": job.state is State.RUNNING and detail.spent > 0,
        "clocks": (clock(detail.spent), clock(job.seconds)),
        "running": _running(detail),
        "best": () if found or answer is None else tuple(_best(answer)),
        "downloads": _downloads(job.url, found) if found else {},
        "shown": parts(found) if found else parts_so_far(detail.trials, answer),
        "left_out": 0 if found else job.trials - len(detail.trials),
        "facts": _facts(job),
        "moments": {name: at for name, at in moments.items() if at},
        "events": [
            (e.at, sentence(text)) for e in reversed(detail.events) if (text := sentence_of(e.body))
        ],
    }


def _best(answer: Answer) -> Iterator[Figure]:
    """Yield the leaders on one device and on several, with their ratios to the own settings."""
    for name, leader in (("one device", answer.one_device), ("distributed", answer.several)):
        if best := answer.entry(leader):
            ratio = expected(share(best.ratio), answer)
            note = f"{in_short(best.configuration)}, {ratio} times your own"
            text = rate_with_error(best.examples_per_second)
            yield figure(text, f"{name}, examples per second", note=note)


def _downloads(base: str, found: Result) -> dict[str, str]:
    texts = programs(found)
    paths = {e.name: f"script?part={part}" for part, e in PROGRAMS.items() if texts[e.name]}
    paths |= {"config.yaml": "config", "result.json": "result", "report.html": "report"}
    return {name: f"{base}/{path}" for name, path in paths.items()}


def _facts(job: Job) -> dict[str, str]:
    asked = {name: getattr(job, name) for name in Tuning.model_fields if name not in _APART}
    usual = Tuning(workload=job.workload)
    edited = ", edited while it was measured" if job.code_changed else ""
    known = {
        "Project": "" if job.project == LOCAL_PROJECT else job.project,
        "Parameters": _params_text(job),
        "Space": _space_name(job),
        "Budget": roughly(job.seconds) if job.budget else "",
        **{
            name.replace("_", " ").capitalize(): " or ".join(
                map(str, value if isinstance(value, tuple) else [value])
            )
            for name, value in asked.items()
            if value != getattr(usual, name)
        },
        "Devices": job.devices or "",
        "Code": f"{job.code}{edited}" if job.code else "",
        "Attempts": str(job.attempt) if job.attempt > 1 else "",
        "Id": job.id,
    }
    return {name: value for name, value in known.items() if value}


def _phase_of(what: Event) -> str | None:
    match what:
        case TrialStarted(stage=stage):
            return PHASES[stage]
        case TrialEnded(trial=trial):
            return PHASES[trial.stage]
        case Preparing(what=doing):
            return doing
        case Notice(text=text):
            return text.rstrip(".")
        case Planned() | Claimed():
            return "Starting"
    return None


def _free(detail: JobDetail) -> float | None:
    """Return when another search leaves a waiting job's machine at the latest, if that is known."""
    bodies = (each.body for each in reversed(detail.events))
    last = next((each for each in bodies if isinstance(each, Notice | Claimed | Released)), None)
    wait = last.waiting if isinstance(last, Notice) and detail.job.waiting else None
    return wait.until if wait else None


def _running(detail: JobDetail) -> tuple[float, TrialStarted] | None:
    if detail.job.state is not State.RUNNING:
        return None
    for event in reversed(detail.events):
        if isinstance(event.body, TrialStarted):
            return event.at, event.body
        if isinstance(event.body, TrialEnded | Claimed | Released):
            return None
    return None
