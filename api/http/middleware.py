"""What a request passes before any route: its answer is sealed, its body limited.

Every answer has security headers and a line in the log, and every error problem details.
"""

from __future__ import annotations

import time
from email.message import Message as Header

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.api.http.metrics import Metrics
from autotune.api.http.problems import of_status, response_to, route_of
from autotune.api.log import say

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer."""
BARE = ("text/plain", "application/json")
"""Media types of the errors that the framework, or something mounted, words by itself."""


class Envelope:
    """Seals every answer. The outermost ASGI middleware.

    Args:
        app: What it stands before.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request, and seal its answer."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        seal = _Seal(scope, receive, send)
        try:
            await self._app(scope, receive, seal.send)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the answer must not show it
            response = response_to(exc, route_of(scope))
            if not seal.status:
                await response(scope, receive, seal.send)
        finally:
            _note(scope, seal.status, time.monotonic() - began)
        return None


class _Seal:
    """Sends one answer; `status` is 0 before it has begun."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._replaced = False
        self.status = 0

    async def send(self, message: Message) -> None:
        """Send a part of the answer; an error without details is replaced by one with them."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            if self.status >= 400 and headers.get("content-type", "").startswith(BARE):
                self._replaced = True
                response = of_status(self.status)
                return await response(self._scope, self._receive, self._send_sealed)
            _seal(headers)
        if not self._replaced:
            await self._send(message)
        return None

    async def _send_sealed(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            _seal(MutableHeaders(raw=message["headers"]))
        await self._send(message)


def _seal(headers: MutableHeaders) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")


def _note(scope: Scope, status: int, seconds: float) -> None:
    method, route = scope["method"], route_of(scope)
    metrics: Metrics = scope["app"].state.service.metrics
    metrics.count(method, route, status, seconds)
    say(
        "Request answered.",
        method=method if method.isalpha() else "?",
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        key=getattr(scope.get("state", {}).get("key"), "id", "-"),
    )


class BodyLimit:
    """Refuses bodies that are too large, before they are read. An ASGI middleware.

    Starlette's own answers a request with a declared length only after its route has done its
    work.

    Args:
        app: What it stands before.
        most: Most bytes.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared[:19]) > self._most:
            return await of_status(413)(scope, receive, send)
        return await self._app(scope, self._counting(receive), send)

    def _counting(self, receive: Receive) -> Receive:
        left = self._most

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413)
            return message

        return counted


async def json_only(request: Request) -> None:
    """Refuse a body that is not declared as JSON; the framework would call it no object."""
    header = Header()
    header["content-type"] = request.headers.get("content-type", "text/plain")
    if header.get_content_type() != "application/json":
        raise HTTPException(415)
