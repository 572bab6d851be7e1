"""Signing in and out, the cookie of a session, and the answers to callers who are refused.

The cookie holds the secret of a session, not the key: sessions are kept in the database, as
digests, so that they outlive a restart, are known to every API process, and are gone once they are
ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import KeyRefused, ScopeMissing, ServiceError
from autotune.api.http.access import Reader, check_origin, cookie_name, session_of
from autotune.api.http.page.forms import typed_of
from autotune.api.http.page.rendering import render
from autotune.api.http.problems import STATUSES, response_to, route_of
from autotune.api.http.service import Here
from autotune.api.values import Problem

SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""
SEE_OTHER = 303
HOME, SIGN_IN, SIGN_OUT = "/", "/sign-in", "/sign-out"
_PAGES = re.compile("/(?:workers|sign-out)?|/tunings/.*")
# An allow-list: whatever else a link names may lead to another site, or change something.
_NEXT = re.compile(r"/(?:tunings/[0-9a-f]{24}|workers)?(?:\?[\w=&.+%-]{0,500})?", re.ASCII)


class PageRoute(APIRoute):
    """A route whose errors are answered as pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await usual(request)
            except (ServiceError, RequestValidationError, HTTPException) as exc:
                return error_page(request, exc)

        return handle


router = APIRouter(include_in_schema=False, route_class=PageRoute)


def refuse(connection: HTTPConnection, error: ServiceError) -> Response:
    """Answer what is not let in: people are sent to sign in, programs get problem details."""
    if not _PAGES.fullmatch(connection.scope["path"]):
        return response_to(error)
    if isinstance(error, KeyRefused):
        url = connection.url
        wanted = _safe(f"{url.path}?{url.query}" if url.query else url.path)
        query = "" if wanted == HOME else f"?{urlencode({'next': wanted})}"
        return RedirectResponse(f"{SIGN_IN}{query}", SEE_OTHER)
    return error_page(connection, error)


def error_page(connection: HTTPConnection, error: Exception) -> Response:
    """Return the page for an error, with the texts of its problem details."""
    plain = response_to(error, route_of(connection.scope))
    problem = Problem.model_validate(json.loads(bytes(plain.body)))
    page = render("problem.html", connection, plain.status_code, problem=problem)
    if "retry-after" in plain.headers:
        page.headers["Retry-After"] = plain.headers["retry-after"]
    return page


def _safe(wanted: str) -> str:
    """Return an address within the pages: the one that is wanted, or the first page's."""
    return wanted if _NEXT.fullmatch(wanted) else HOME


@router.get(SIGN_IN)
async def ask(
    request: Request, here: Here, wanted: Annotated[str, Query(alias="next")] = HOME
) -> Response:
    if here.keyring is None:
        return RedirectResponse(_safe(wanted), SEE_OTHER)
    return render("sign-in.html", request, next=_safe(wanted), error="")


@router.post(SIGN_IN)
async def sign_in(request: Request, here: Here) -> Response:
    check_origin(request, proven=True)
    typed = await typed_of(request)
    wanted = _safe(typed.one("next"))
    response = RedirectResponse(wanted, SEE_OTHER)
    if here.keyring is None:
        return response
    try:
        session = await run_in_threadpool(here.keyring.sign_in, typed.one("key"), SESSION_SECONDS)
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
        here.guard.forget(session)
    response = RedirectResponse(SIGN_IN, SEE_OTHER)
    secure = _is_secure(request)
    response.delete_cookie(cookie_name(request), secure=secure, httponly=True, samesite="lax")
    return response


def _is_secure(connection: HTTPConnection) -> bool:
    """Return whether the browser speaks TLS, if only with a server that stands before this one."""
    origin = connection.headers.get("origin", "")
    return connection.url.scheme == "https" or origin.startswith("https://")
