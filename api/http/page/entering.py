"""Who is let in: signing in and out, the cookie of a session, and what strangers are told.

The cookie holds the secret of a session, not the key: sessions are kept in the database, as
digests, so that they outlive a restart, are known to every API process, and are gone once they are
ended. A browser sends a cookie to every port of a host, so the port is a part of its name: two
services on one host would otherwise sign each other out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import KeyRefused, ScopeMissing, ServiceError
from autotune.api.http.access import Reader, check_origin, count_refusal
from autotune.api.http.answers import Problem
from autotune.api.http.oidc import BEGIN
from autotune.api.http.page.addresses import HOME, SIGN_IN, SIGN_OUT, is_page, safe, sign_in_page
from autotune.api.http.page.fields import typed_of
from autotune.api.http.page.rendering import STRANGER, frame_of, render
from autotune.api.http.problems import KINDS, response_to, route_of
from autotune.api.http.service import Here, Service
from autotune.api.store.auth import is_session

COOKIE = "autotune_session"
"""Its name, without the port."""
SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""


def session_of(connection: HTTPConnection) -> str | None:
    """Return the secret of the session that a browser shows; a key is none."""
    found = connection.cookies.get(cookie_name(connection), "")
    return found if is_session(found) else None


def cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie for the port that the browser has called."""
    port = re.search(r":([0-9]{1,5})$", connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def keep(
    response: Response, connection: HTTPConnection, session: str, *, secure: bool = False
) -> None:
    """Have the browser keep a session, away from scripts and from what other sites send.

    A link on another site still leads to the page that it names: nothing is changed by one.
    """
    response.set_cookie(
        cookie_name(connection),
        session,
        max_age=SESSION_SECONDS,
        path="/",
        secure=secure or is_secure(connection),
        httponly=True,
        samesite="lax",
    )


def drop(response: Response, connection: HTTPConnection) -> None:
    """Have the browser forget its session."""
    response.delete_cookie(
        cookie_name(connection),
        path="/",
        secure=is_secure(connection),
        httponly=True,
        samesite="lax",
    )


def is_secure(connection: HTTPConnection) -> bool:
    """Return whether the browser speaks TLS, if only with a server that stands before this one."""
    origin = connection.headers.get("origin", "")
    return connection.url.scheme == "https" or origin.startswith("https://")


SEE_OTHER = 303


class PageRoute(APIRoute):
    """A route whose errors are told as pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        usual = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await usual(request)
            except (ServiceError, RequestValidationError, HTTPException) as exc:
                return told(request, exc)

        return handle


def refuse(connection: HTTPConnection, error: ServiceError) -> Response:
    """Answer what is not let in: people are sent to sign in, programs get problem details."""
    if not is_page(connection.scope["path"]):
        return response_to(error)
    if isinstance(error, KeyRefused):
        return RedirectResponse(sign_in_page(connection), SEE_OTHER)
    return told(connection, error)


def told(connection: HTTPConnection, error: Exception) -> Response:
    """Return the page for an error; what it says is what a program would be told."""
    plain = response_to(error, route_of(connection.scope))
    what = Problem.model_validate(json.loads(bytes(plain.body)))
    page = render("problem.html", what, frame_of(connection), plain.status_code)
    if "retry-after" in plain.headers:
        page.headers["Retry-After"] = plain.headers["retry-after"]
    return page


router = APIRouter(include_in_schema=False, route_class=PageRoute)


@dataclass(frozen=True, kw_only=True)
class SignInView:
    """The page that asks for a key."""

    next: str
    error: str | None = None
    provider: str | None = None
    """Where to sign in at the provider, if there is one."""
    issuer: str | None = None


@dataclass(frozen=True, kw_only=True)
class SignedOutView:
    """The page from which a browser goes to the provider to sign out there."""

    provider: str
    issuer: str | None


def sign_in_again(here: Service, wanted: str, error: ServiceError | None = None) -> Response:
    """Return the page that asks for a key, and says what is wrong."""
    view = SignInView(next=wanted, error=str(error) if error else None)
    if here.provider:
        named = here.provider.settings
        begin = f"{named.url.rstrip('/')}{BEGIN}?{urlencode({'next': wanted})}"
        view = replace(view, provider=begin, issuer=urlsplit(named.issuer).hostname)
    return render("sign-in.html", view, STRANGER, KINDS[error.kind].status if error else 200)


@router.get(SIGN_IN)
async def ask(here: Here, wanted: Annotated[str, Query(alias="next")] = HOME) -> Response:
    """Show the page that asks for a key; without keys there is nothing to ask."""
    if here.keyring is None:
        return RedirectResponse(safe(wanted), SEE_OTHER)
    return sign_in_again(here, safe(wanted))


@router.post(SIGN_IN)
async def sign_in(request: Request, here: Here) -> Response:
    """Begin a session for a key."""
    check_origin(request, proven=True)
    typed = await typed_of(request)
    wanted = safe(typed.one("next"))
    if here.keyring is None:
        return RedirectResponse(wanted, SEE_OTHER)
    try:
        session = await run_in_threadpool(here.keyring.sign_in, typed.one("key"), SESSION_SECONDS)
    except (KeyRefused, ScopeMissing) as exc:
        count_refusal(request)
        return sign_in_again(here, wanted, exc)
    response = RedirectResponse(wanted, SEE_OTHER)
    keep(response, request, session)
    return response


@router.post(SIGN_OUT)
def sign_out(request: Request, here: Here, _: Reader) -> Response:
    """End the session, and lead a person on to where the one at the provider ends."""
    session = session_of(request)
    if session and here.keyring:
        here.keyring.sign_out(session)
        here.guard.forget(session)
    there = None
    response = _signed_out(here, there) if there else RedirectResponse(SIGN_IN, SEE_OTHER)
    drop(response, request)
    return response


def _signed_out(here: Service, there: str) -> Response:
    """Return a page that leads to the provider: a form's answer may not redirect elsewhere."""
    issuer = urlsplit(here.provider.settings.issuer).hostname if here.provider else None
    view = SignedOutView(provider=there, issuer=issuer)
    response = render("signed-out.html", view, STRANGER)
    response.headers["Refresh"] = f"0; url={there}"
    return response
