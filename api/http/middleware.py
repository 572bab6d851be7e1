"""The middleware before any route: every answer gets security headers and a line in the log.

The rest is Starlette's; how often and how slowly a caller may ask is bounded by a proxy.
"""

import re
import time
from email.message import Message as Header

from asgi_correlation_id import correlation_id
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.api.http.problems import response_to, route_of
from autotune.api.http.service import Metrics
from autotune.api.log import about, log

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_LENGTHS = {b"content-length", b"transfer-encoding"}
HEADERS = {
    "Cache-Control": "no-store",
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


def is_request_id(text: str) -> bool:
    """Return whether a caller's id of a request may stand in the log."""
    return re.fullmatch("[A-Za-z0-9._-]{1,64}", text) is not None


class Envelope:
    """Adds headers to every answer, and logs it; an ASGI middleware within that of the id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        # A proxy's header may put another address in its place.
        scope.setdefault("state", {})["peer"] = (scope.get("client") or ("",))[0]
        if scope["method"] == "HEAD":  # The server leaves the body out.
            scope = {**scope, "method": "GET"}
        answer, began = _Answer(send), time.monotonic()
        ask = self._app
        if {name for name, _ in scope["headers"]} >= _LENGTHS:
            # A proxy may have believed the other one of the two lengths.
            ask = response_to(HTTPException(400, headers={"Connection": "close"}))
        with about(request=correlation_id.get() or "", client=client_of(scope)):
            try:
                await ask(scope, receive, answer.send)
                if answer.bare:
                    await response_to(answer.bare)(scope, receive, answer.send)
            except Exception as exc:  # noqa: BLE001 - whatever it is, the answer must not show it
                response = response_to(exc, route_of(scope))
                if not answer.status:
                    await response(scope, receive, answer.send)
            finally:
                _note(scope, answer.status, time.monotonic() - began)
        return None


class BodyLimit:
    """Bounds the bodies of requests, those of uploaded code by more bytes."""

    def __init__(self, app: ASGIApp, usual: int, code: int) -> None:
        self._usual = RequestBodyLimitMiddleware(app, max_body_size=usual)
        self._code = RequestBodyLimitMiddleware(app, max_body_size=code)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_code = scope.get("path", "").startswith("/v1/code/")
        await (self._code if is_code else self._usual)(scope, receive, send)


class _Answer:
    """Sends one answer, but for an error in plain text, which Starlette's middleware gives."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        """0 before it has begun."""
        self.bare: HTTPException | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            plain = headers.get("content-type", "").startswith("text/plain")
            self.bare = None
            if message["status"] >= 400 and plain:
                self.bare = HTTPException(message["status"])
                return
            self.status = message["status"]
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        if not self.bare:
            await self._send(message)


def _note(scope: Scope, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in METHODS else "other"
    route = route_of(scope)
    metrics: Metrics = scope["app"].state.service.metrics
    metrics.count(method, route, status, seconds)
    log(
        "Request answered.",
        method=method,
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        key=getattr(scope["state"].get("key"), "id", "-"),
        job=scope.get("path_params", {}).get("job_id"),
    )


def client_of(scope: Scope) -> str:
    """Return where a request comes from; a proxy may have put any text there."""
    host = (scope.get("client") or ("-",))[0]
    return host if re.fullmatch(r"[\w.:%-]{1,64}", host, re.ASCII) else "?"


async def json_only(request: Request) -> None:
    """Refuse a body that is not declared as plain JSON; the framework would call it no object."""
    header = Header()
    header["content-type"] = request.headers.get("content-type", "text/plain")
    coding = request.headers.get("content-encoding", "identity")
    if header.get_content_type() != "application/json" or coding != "identity":
        raise HTTPException(415)
