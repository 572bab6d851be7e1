"""Signing in at the provider: there, and back."""

from __future__ import annotations

import re
import secrets
from hmac import compare_digest
from typing import Annotated
from urllib.parse import quote, unquote

from fastapi import APIRouter, Query
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import KeyRefused, ProviderUnavailable, ScopeMissing
from autotune.api.http.oidc import BEGIN, END, state_of
from autotune.api.http.page.addresses import HOME, SIGN_IN, safe
from autotune.api.http.page.entering import (
    SEE_OTHER,
    SESSION_SECONDS,
    PageRoute,
    cookie_name,
    keep,
    sign_in_again,
)
from autotune.api.http.service import Here, Service

router = APIRouter(include_in_schema=False, route_class=PageRoute)
SIGN_IN_SECONDS = 600
"""Longest time that somebody may take at the provider."""
_SECRET = re.compile(r"([\w-]{43})\.([\w.~%-]{0,2000})", re.ASCII)
Given = Annotated[str, Query(max_length=4096)]


@router.get(BEGIN)
def begin(
    request: Request, here: Here, wanted: Annotated[str, Query(alias="next")] = HOME
) -> Response:
    """Send the browser to the provider, with a secret that is this sign-in's alone."""
    if here.provider is None:
        return RedirectResponse(SIGN_IN, SEE_OTHER)
    secret = secrets.token_urlsafe(32)
    try:
        response = RedirectResponse(here.provider.begin(secret), SEE_OTHER)
    except ProviderUnavailable as exc:
        return sign_in_again(here, safe(wanted), exc)
    response.set_cookie(
        _cookie(request),
        f"{secret}.{quote(safe(wanted), safe='')}",
        max_age=SIGN_IN_SECONDS,
        path=SIGN_IN,
        secure=here.provider.secure,
        httponly=True,
        samesite="lax",
    )
    return response


@router.get(END)
def end(request: Request, here: Here, code: Given = "", state: Given = "") -> Response:
    """Begin a session for whom the provider vouches, if this browser has begun the sign-in."""
    secret, wanted = _begun(request)
    if here.provider is None:
        return RedirectResponse(SIGN_IN, SEE_OTHER)
    try:
        response = _signed_in(request, here, secret if _answers(state, secret) else "", code)
        response.headers["location"] = wanted
    except (KeyRefused, ScopeMissing, ProviderUnavailable) as exc:
        response = sign_in_again(here, wanted, exc)
    response.delete_cookie(
        _cookie(request),
        path=SIGN_IN,
        secure=here.provider.secure,
        httponly=True,
        samesite="lax",
    )
    return response


def _signed_in(request: Request, here: Service, secret: str, code: str) -> Response:
    """Return an answer that gives the browser a session.

    Raises:
        KeyRefused: This browser has not begun it, or the provider does not vouch for anybody.
        ScopeMissing: The person belongs to no project.
        ProviderUnavailable: The provider does not answer.
    """
    if not secret or not code or here.provider is None or here.keyring is None:
        raise KeyRefused("The sign-in was not completed.", "Sign in again.")
    person = here.provider.end(secret, code)
    session = here.keyring.sign_in_person(person, state_of(secret), SESSION_SECONDS)
    response = RedirectResponse(HOME, SEE_OTHER)
    keep(response, request, session, secure=here.provider.secure)
    return response


def _cookie(connection: HTTPConnection) -> str:
    return f"{cookie_name(connection)}_begun"


def _begun(connection: HTTPConnection) -> tuple[str, str]:
    """Return the secret of the sign-in that a browser has begun, and where it leads."""
    found = _SECRET.fullmatch(connection.cookies.get(_cookie(connection), ""))
    return (found[1], safe(unquote(found[2]))) if found else ("", HOME)


def _answers(state: str, secret: str) -> bool:
    """Whether the provider's answer is that to the sign-in with this secret."""
    return bool(secret) and compare_digest(state.encode(), state_of(secret).encode())
