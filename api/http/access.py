"""The authentication of callers, and the scopes that routes need.

Every request is authenticated before any route gets it, so that none can be open by mistake. The
scope that it needs is declared at each route.
"""

import ipaddress
import platform
import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Security
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope as Connection, Send

from autotune.api.http.service import Service
from autotune.api.identity import Caller, Scope
from autotune.api.log import about
from autotune.api.settings import Settings
from autotune.api.store.auth import is_session
from autotune.api.values import LOCAL_PROJECT
from autotune.wire.errors import KeyMissing, KeyRefused, ServiceError

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/sign-in"})
FILES = ("/docs/files/", "/page/")
"""Beginnings of the addresses of files that come with the service, the same for all callers."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
COOKIE = "autotune_session"
"""Its name, without the port."""
EVERYBODY = Caller(
    id=LOCAL_PROJECT, name=LOCAL_PROJECT, project=LOCAL_PROJECT, scopes=frozenset(Scope)
)
Refusal = Callable[[HTTPConnection, Exception], Awaitable[Response]]


async def admit(connection: HTTPConnection) -> Caller:
    """Return the caller: a key, or a person for whom a proxy vouches."""
    service: Service = connection.app.state.service
    if service.keyring is None:
        return EVERYBODY
    proxy, shown = service.settings.proxy, bearer(connection)
    if secret := shown or session_of(connection):
        try:
            return await run_in_threadpool(service.keyring.recognise, secret)
        except KeyRefused:
            # A session may be of before there was a proxy, which vouches for the person now.
            if shown or not proxy:
                raise
    peer = connection.scope["state"].get("peer", "")
    person = proxy and proxy.caller(peer, connection.headers.getlist)
    if person:
        return person
    raise KeyMissing("An API key is required.", "Send it as `Authorization: Bearer autotune_...`.")


def bearer(connection: HTTPConnection) -> str | None:
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def session_of(connection: HTTPConnection) -> str | None:
    """Return the secret of the session that a browser shows; a key is none."""
    found = connection.cookies.get(cookie_name(connection), "")
    return found if is_session(found) else None


def cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie for the port that the browser has called.

    A browser sends a cookie to every port of a host: two services there would sign each other out.
    """
    port = re.search(r":([0-9]{1,5})$", connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


class CrossOrigin(ServiceError):
    """Another site's page has a browser ask for a change."""


def check_origin(connection: HTTPConnection, *, proven: bool) -> None:
    """Let no page of another site change anything by a browser that is let in here.

    Programs send neither of the two headers.
    """
    if connection.scope["method"] in SAFE:
        return
    headers = connection.headers
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    host = headers.get("host", "").lower()
    foreign = origin is not None and origin.lower().partition("://")[2] != host
    unsaid = proven and origin is None and site != "same-origin"
    if foreign or unsaid or site not in {"same-origin", "none"}:
        raise CrossOrigin(
            "The request comes from a page of another site.", "Call it from a page of this service."
        )


class Access:
    def __init__(self, app: ASGIApp, refuse: Refusal) -> None:
        self._app = app
        self._refuse = refuse

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path in PUBLIC or path.startswith(FILES):
            return await self._app(scope, receive, send)
        connection = HTTPConnection(scope)
        try:
            key = connection.state.key = await admit(connection)
            check_origin(connection, proven=key is not EVERYBODY and not bearer(connection))
        except ServiceError as exc:
            answer = await self._refuse(connection, exc)
            return await answer(scope, receive, send)
        with about(key=key.id):
            return await self._app(scope, receive, send)


_header = HTTPBearer(
    scheme_name="key",
    bearerFormat="autotune_...",
    description="An API key created with `autotune keys create`.",
    auto_error=False,
)


async def caller(
    request: Request, needed: SecurityScopes, _: Annotated[object, Security(_header)]
) -> Caller:
    key: Caller = request.state.key
    for scope in needed.scopes:
        key.require(Scope(scope))
    return key


Reader = Annotated[Caller, Security(caller, scopes=[Scope.READ])]
Writer = Annotated[Caller, Security(caller, scopes=[Scope.WRITE])]
Uploader = Annotated[Caller, Security(caller, scopes=[Scope.CODE])]


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def served(settings: Settings, *, keys: bool) -> list[str]:
    """Return all names by which callers may call.

    Without keys these are loopback's alone, so that no web page can by a name of its own.
    """
    listed = settings.web.hosts
    own = (platform.node().lower(), *listed) if keys else filter(is_loopback, listed)
    return [each for each in (*LOOPBACK, *own) if each]
