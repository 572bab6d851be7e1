"""The application: routes, and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from autotune.api.errors import ServiceError
from autotune.api.http import files, keys, operating, tunings
from autotune.api.http.access import Access, bearer, served
from autotune.api.http.document import completed, operation_id
from autotune.api.http.middleware import BodyLimit, Compress, Envelope
from autotune.api.http.page import entering, provider, rendering, routes
from autotune.api.http.problems import handle
from autotune.api.http.service import Service, open_service
from autotune.api.settings import Settings
from autotune.api.telemetry import Telemetry
from autotune.version import VERSION

DESCRIPTION = (
    "Create a tuning job for a registered workload, follow it, and fetch the best configuration "
    "and its training program. Errors are problem details (RFC 9457)."
)

PARTS = (
    *(tunings, files, keys, operating),
    *(routes, entering, provider, rendering),
)
HANDLED = (ServiceError, RequestValidationError, HTTPException)
"""What the framework hands to a handler; anything else the envelope answers."""
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(settings: Settings, *, keys: bool = True, opened: Service | None = None) -> FastAPI:
    """Return the application.

    Args:
        settings: The operator's.
        keys: Whether callers need a key. Without, only this machine may reach it, and by its
            loopback names alone.
        opened: What its routes call; None opens that when the application starts, not before, and
            has its requests not traced.
    """
    telemetry = opened.telemetry if opened else Telemetry()
    app = FastAPI(
        title="autotune",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        telemetry=telemetry.of_requests,
        lifespan=_lifespan(lambda: opened or open_service(settings, keys=keys)),
        middleware=_middleware(settings, keys=keys),
        exception_handlers={405: _refuse_method, **dict.fromkeys(HANDLED, handle)},
    )
    for each in PARTS:
        app.include_router(each.router)
    app.openapi = partial(completed, app.openapi, _routes)  # type: ignore[method-assign] # FastAPI's way
    return app


def _middleware(settings: Settings, *, keys: bool) -> list[Middleware]:
    """Return what a request passes, outermost first."""
    hosts = served(settings, keys=keys)
    return [
        Middleware(Envelope),
        Middleware(Compress, compresslevel=5),
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(Access, sources=(bearer, entering.session_of), refuse=entering.refuse),
        Middleware(BodyLimit, most=settings.web.body),
    ]


def _lifespan(opened: Callable[[], Service]) -> Lifespan:
    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        service = app.state.service = await run_in_threadpool(opened)
        try:
            yield
        finally:
            service.close()

    return run


async def _refuse_method(request: Request, error: Exception) -> Response:
    """Answer with all methods of an address; the framework names those of one route."""
    fitting = [each for each in _routes() if each.matches(request.scope)[0] is not Match.NONE]
    response = await handle(request, error)
    methods = sorted({method for each in fitting for method in each.methods or ()})
    if methods:  # Otherwise it is none of our routes, and the framework knows.
        response.headers["Allow"] = ", ".join(methods)
    return response


def _routes() -> list[APIRoute]:
    found = [each for part in PARTS for each in part.router.routes]
    return [each for each in found if isinstance(each, APIRoute)]
