"""Who may come in, and what for.

Every request is looked at before any route or mounted application sees it, so that none can be
open by mistake. What a key must be good for is declared at each route.
"""

from __future__ import annotations

import hashlib
import ipaddress
import platform
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import Security
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope as Connection, Send

from autotune.api.callers import Caller, Scope
from autotune.api.errors import KeyMissing, KeyRefused, ServiceError
from autotune.api.http.oidc import BEGIN, END, Provider
from autotune.api.http.problems import response_to
from autotune.api.http.rates import Rates
from autotune.api.log import about
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.values import LOCAL_OWNER

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
PUBLIC = (
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/sign-in",
    BEGIN,
    END,
    "/page/style.css",
    "/page/icon.svg",
)
"""All that answers without a key; the last five are what the page asks for one with."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
TRUSTED_SECONDS = 2.0
"""A key that was just recognised is not looked up again for so long; nor is it known as revoked."""
MOST_TRUSTED = 1024
_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)
"""The form of a provider's token; a key has no dots."""
Source = Callable[[HTTPConnection], str | None]
"""Finds the secret that a request shows."""
Refusal = Callable[[HTTPConnection, ServiceError], Response]
"""Answers a request that is not let in."""
EVERYTHING = Caller(id=LOCAL_OWNER, name=LOCAL_OWNER, project=LOCAL_OWNER, scopes=frozenset(Scope))
"""Who asks a service without keys."""


class Guard:
    """Lets keys in.

    Args:
        keyring: Knows the keys; None lets everybody in, who may do everything.
        clock: Tells seconds that never go back.
        provider: Vouches for people; None has everybody show a key.
    """

    def __init__(
        self,
        keyring: Keyring | None,
        clock: Callable[[], float] = time.monotonic,
        provider: Provider | None = None,
    ) -> None:
        self._keyring = keyring
        self._provider = provider
        self._clock = clock
        self._trusted: dict[bytes, tuple[Caller, float]] = {}

    async def admit(self, secret: str | None) -> Caller:
        """Return the key of a secret, wherever the caller had it from: a header, or a cookie.

        Raises:
            KeyMissing: There is no secret.
            KeyRefused: It is unknown, revoked or expired.
            ProviderUnavailable: It is a token, and nobody vouches for it now.
        """
        if self._keyring is None:
            return EVERYTHING
        if not secret:
            raise KeyMissing(
                "An API key is required.", "Send it as `Authorization: Bearer autotune_...`."
            )
        known = self._trusted.get(_mark(secret))
        if known and self._clock() < known[1]:
            return known[0]
        return self._trust(secret, await run_in_threadpool(self._recognise, self._keyring, secret))

    def forget(self, secret: str) -> None:
        """Look a secret up again the next time."""
        self._trusted.pop(_mark(secret), None)

    def _recognise(self, keyring: Keyring, secret: str) -> Caller:
        if self._provider and _TOKEN.fullmatch(secret):
            return self._provider.recognise(secret)
        return keyring.recognise(secret)

    def _trust(self, secret: str, key: Caller) -> Caller:
        if len(self._trusted) >= MOST_TRUSTED:
            self._trusted.clear()
        self._trusted[_mark(secret)] = key, self._clock() + TRUSTED_SECONDS
        return key


def _mark(secret: str) -> bytes:
    """Return what is kept of a secret for a moment."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def bearer(connection: HTTPConnection) -> str | None:
    """Return the secret that a request shows in its header."""
    scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


class CrossOrigin(ServiceError):
    """Another site's page has a browser ask for a change."""


def check_origin(connection: HTTPConnection, *, proven: bool = False) -> None:
    """Let no page of another site change anything by a browser that is let in here.

    Programs send neither of the two headers.

    Args:
        connection: The call.
        proven: Whether it must say that it comes from here: what shows a cookie is a browser.

    Raises:
        CrossOrigin: A browser says that the call comes from elsewhere, or does not say it.
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


def plainly(connection: HTTPConnection, error: ServiceError) -> Response:
    """Answer with problem details."""
    del connection
    return response_to(error)


class Access:
    """Closes whatever is not public. An ASGI middleware.

    Args:
        app: What it stands before.
        sources: Where a request may show its secret; the first that has one counts.
        refuse: Answers what is not let in.
    """

    def __init__(
        self, app: ASGIApp, sources: Sequence[Source] = (bearer,), refuse: Refusal = plainly
    ) -> None:
        self._app = app
        self._sources = sources
        self._refuse = refuse

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Hand on a request with its key, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in PUBLIC:
            connection = HTTPConnection(scope)
            guard: Guard = connection.app.state.service.guard
            secret = self._secret(connection)
            admit = partial(guard.admit, secret)
            try:
                check_origin(connection, proven=secret is not None and not bearer(connection))
                connection.state.key = await _counted(admit, connection)
            except ServiceError as exc:
                return await self._refuse(connection, exc)(scope, receive, send)
            connection.state.again = admit
            with about(key=connection.state.key.id):
                return await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # There is none.
            return await send({"type": "websocket.close", "code": 1008})
        return await self._app(scope, receive, send)

    def _secret(self, connection: HTTPConnection) -> str | None:
        found = (source(connection) for source in self._sources)
        return next((secret for secret in found if secret), None)


async def _counted(admit: Callable[[], Awaitable[Caller]], connection: HTTPConnection) -> Caller:
    """Return who is let in, having counted the request, or the refusal against its address.

    Raises:
        ServiceError: Nobody is, or not so often.
    """
    rates: Rates = connection.app.state.service.rates
    try:
        key = await admit()
    except KeyRefused:
        count_refusal(connection)
        raise
    rates.count(f"key {key.id}")
    return key


def count_refusal(connection: HTTPConnection) -> None:
    """Count that a key was refused, against the address that has shown it.

    Raises:
        TooManyRequests: It shows such keys too often.
    """
    rates: Rates = connection.app.state.service.rates
    rates.count(f"address {connection.client.host if connection.client else '-'}")


_header = HTTPBearer(
    scheme_name="key",
    bearerFormat="autotune_...",
    description="An API key created with `autotune keys create`.",
    auto_error=False,
)


_token = HTTPBearer(
    scheme_name="token",
    bearerFormat="JWT",
    description="An access token of the identity provider, where the operator has named one.",
    auto_error=False,
)


async def caller(
    request: Request,
    needed: SecurityScopes,
    _: Annotated[object, Security(_header)],
    __: Annotated[object, Security(_token)],
) -> Caller:
    """Return the key or person that asks.

    Raises:
        ScopeMissing: It lacks a scope that the route declares.
    """
    key: Caller = request.state.key
    for scope in needed.scopes:
        key.require(Scope(scope))
    return key


Reader = Annotated[Caller, Security(caller, scopes=[Scope.READ])]
"""A caller who may look."""
Writer = Annotated[Caller, Security(caller, scopes=[Scope.WRITE])]
"""A caller who may ask for jobs and cancel them."""
Manager = Annotated[Caller, Security(caller, scopes=[Scope.ADMIN])]
"""A caller who administers its project."""


def is_loopback(host: str) -> bool:
    """Return whether a name leads to this machine from itself only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def in_address(host: str) -> str:
    """Return a name or address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def served(settings: Settings, *, keys: bool) -> list[str]:
    """Return all names by which callers may call.

    Without keys these are loopback's alone, so that no web page can by a name of its own.
    """
    listed = settings.web.hosts
    own = (platform.node().lower(), *listed) if keys else filter(is_loopback, listed)
    return [each for each in (*LOOPBACK, *own) if each]
