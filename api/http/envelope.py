"""What every answer has: security headers, a line in the log, and problem details for errors."""

from __future__ import annotations

import logging
import time
import traceback

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.api.http.metrics import Metrics
from autotune.api.http.problems import of_status, response_to
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
        metrics: Counts the requests.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request, and seal its answer."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began = time.monotonic()
        seal = _Seal(scope, receive, send)
        try:
            await self._app(scope, receive, seal.send)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the answer must not show it
            _tell(exc, scope)
            if not seal.status:
                await response_to(exc)(scope, receive, seal.send)
        finally:
            self._note(scope, seal.status, time.monotonic() - began)
        return None

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = scope["method"], _route(scope)
        self._metrics.count(method, route, status, seconds)
        key = getattr(scope.get("state", {}).get("key"), "id", "-")
        # The route and not the address, which may hold anything.
        say(
            "A request was answered.",
            method=method if method.isalpha() else "?",
            route=route,
            status=status,
            milliseconds=round(seconds * 1000, 1),
            key=key,
        )


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


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", None) or "none"


def _tell(error: Exception, scope: Scope) -> None:
    """Log where an error came from, without its text, which may hold anything."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.name}:{last.lineno}"
    kind = type(error).__name__
    say("A request failed.", logging.ERROR, route=_route(scope), error=kind, where=where)
