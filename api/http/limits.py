"""What a request may be: how large, and of which media type."""

from __future__ import annotations

from email.message import Message as Header

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from autotune.api.http.problems import of_status


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
