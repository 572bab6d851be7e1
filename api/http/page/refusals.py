"""How people are told what went wrong: as a page, where programs get problem details."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from autotune.api.errors import KeyRefused, ServiceError
from autotune.api.http.page.addresses import is_page, sign_in_page
from autotune.api.http.page.rendering import frame_of, render
from autotune.api.http.problems import Problem, response_to, route_of

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
