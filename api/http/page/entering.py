"""Signing in and out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import KeyRefused, ScopeMissing
from autotune.api.http.access import Reader, check_origin
from autotune.api.http.page.addresses import HOME, SIGN_IN, SIGN_OUT, safe
from autotune.api.http.page.cookies import SESSION_SECONDS, drop, keep, session_of
from autotune.api.http.page.refusals import SEE_OTHER, PageRoute
from autotune.api.http.page.rendering import STRANGER, render
from autotune.api.http.page.typed import typed_of
from autotune.api.http.problems import KINDS
from autotune.api.http.service import Here

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@dataclass(frozen=True, kw_only=True)
class SignInView:
    """The page that asks for a key."""

    next: str
    error: str | None = None


@router.get(SIGN_IN)
async def ask(here: Here, wanted: Annotated[str, Query(alias="next")] = HOME) -> Response:
    """Show the page that asks for a key; without keys there is nothing to ask."""
    if here.keyring is None:
        return RedirectResponse(safe(wanted), SEE_OTHER)
    return render("sign-in.html", SignInView(next=safe(wanted)), STRANGER)


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
        view = SignInView(next=wanted, error=str(exc))
        return render("sign-in.html", view, STRANGER, KINDS[exc.kind].status)
    response = RedirectResponse(wanted, SEE_OTHER)
    keep(response, request, session)
    return response


@router.post(SIGN_OUT)
def sign_out(request: Request, here: Here, _: Reader) -> Response:
    """End the session."""
    session = session_of(request)
    if session and here.keyring:
        here.keyring.sign_out(session)
        here.guard.forget(session)
    response = RedirectResponse(SIGN_IN, SEE_OTHER)
    drop(response, request)
    return response
