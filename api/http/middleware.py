"""What a request passes before any route: its answer is sealed, its body limited.

Every answer has security headers and a line in the log, and every error problem details.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from email.message import Message as Header

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.api.http.metrics import Metrics
from autotune.api.http.problems import of_status, response_to, route_of
from autotune.api.log import about, known, say
from autotune.api.telemetry import Telemetry

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
COMPRESSED = ("/v1/", "/page/", "/metrics", "/openapi.json")
"""Where answers may be compressed."""
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
        head = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET"} if head else scope
        telemetry: Telemetry = scope["app"].state.service.telemetry
        traced = telemetry.here()
        with about(request=request_id(scope), client=_client(scope), **traced):
            seal = _Seal(asked, receive, send, head=head)
            try:
                await self._app(asked, receive, seal.send)
            except Exception as exc:  # noqa: BLE001 - whatever it is, the answer must not show it
                response = None if seal.complete else response_to(exc, route_of(asked))
                if response and not seal.status:
                    await response(asked, receive, seal.send)
            finally:
                _note(asked, scope["method"], seal.status, time.monotonic() - began)
        return None


def request_id(scope: Scope) -> str:
    """Return the id of a request: the caller's if it is one, else a new one."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if re.fullmatch("[A-Za-z0-9._-]{1,64}", given) else secrets.token_hex(8)


def _client(scope: Scope) -> str:
    """Return where a request came from; as a proxy says it, that may be any text."""
    host = (scope.get("client") or ("-",))[0]
    return host if re.fullmatch(r"[\w.:%-]{1,64}", host, re.ASCII) else "?"


class _Seal:
    """Sends one answer; `status` is 0 before it has begun. Of one to HEAD, only the head."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, head: bool) -> None:
        self._scope = scope
        self._head = head
        self._held: Message | None = None
        self.complete = False
        """All that is wanted of the answer is sent, though it may not be at its end."""
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
            if _is_tagged(self._scope, self.status, headers):
                self._held = message
                return None
        if not self._replaced:
            await self._send_on(message)
        return None

    async def _send_sealed(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            _seal(MutableHeaders(raw=message["headers"]))
        await self._send_on(message)

    async def _send_on(self, message: Message) -> None:
        if self._held:
            message = await self._tag(self._held, message)
        if self._head and message["type"] == "http.response.body":
            await self._send({"type": "http.response.body"})
            self.complete = message.get("more_body", False)
            if self.complete:  # As if the caller had gone: a stream would not end by itself.
                raise OSError
        else:
            await self._send(message)

    async def _tag(self, start: Message, body: Message) -> Message:
        """Send the start of an answer, and return its body; neither if the caller has it."""
        self._held = None
        tag = f'W/"{hashlib.sha256(body["body"]).hexdigest()[:32]}"'
        headers = MutableHeaders(raw=start["headers"])
        headers["ETag"] = tag
        if tag in Headers(scope=self._scope).get("if-none-match", ""):
            self.status = start["status"] = 304
            del headers["content-length"]
            body = {"type": "http.response.body", "body": b""}
        await self._send(start)
        return body


def _is_tagged(scope: Scope, status: int, headers: MutableHeaders) -> bool:
    """Whether an answer gets a tag: what is read whole, and may be asked for again and again."""
    reads = scope["method"] == "GET" and scope["path"].startswith("/v1/")
    return reads and status == 200 and "content-length" in headers


def _seal(headers: MutableHeaders) -> None:
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Request-Id"] = known()["request"]


def _note(scope: Scope, method: str, status: int, seconds: float) -> None:
    route = route_of(scope)
    metrics: Metrics = scope["app"].state.service.metrics
    metrics.count(method, route, status, seconds)
    say(
        "Request answered.",
        method=method if method.isalpha() else "?",
        route=route,
        status=status,
        milliseconds=round(seconds * 1000, 1),
        key=getattr(scope.get("state", {}).get("key"), "id", "-"),
        job=scope.get("path_params", {}).get("job_id"),
    )


class Compress(GZipMiddleware):
    """Compresses answers for programs; event streams and pages stay as they are.

    Of a page that shows what a request has sent, the length would tell what else is on it.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request, and compress its answer where the caller takes that."""
        if scope["type"] == "http" and not scope["path"].startswith(COMPRESSED):
            return await self.app(scope, receive, send)
        return await super().__call__(scope, receive, send)


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
    """Refuse a body that is not declared as plain JSON; the framework would call it no object."""
    header = Header()
    header["content-type"] = request.headers.get("content-type", "text/plain")
    coding = request.headers.get("content-encoding", "identity")
    if header.get_content_type() != "application/json" or coding != "identity":
        raise HTTPException(415)
