"""The application: routes, and what stands before them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from asgi_correlation_id import CorrelationIdMiddleware
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from autotune.api.errors import ServiceError
from autotune.api.http import files, operating, tunings
from autotune.api.http.access import Access, served
from autotune.api.http.middleware import Envelope, is_request_id
from autotune.api.http.page import entering, rendering, routes
from autotune.api.http.problems import DOCUMENTED, handle
from autotune.api.http.service import Service, open_service
from autotune.api.settings import Settings
from autotune.api.values import JobEvent, Problem
from autotune.installed import VERSION

DESCRIPTION = (
    "Create a tuning job for a registered workload, follow it, and fetch the best configuration "
    "and its training program. Errors are problem details (RFC 9457)."
)
PARTS = (tunings, files, operating, routes, entering, rendering)
HANDLED = (ServiceError, RequestValidationError, HTTPException)
"""What the framework hands to a handler; anything else the envelope answers."""
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]
# The compressed length of a page that shows what a request has sent would reveal the rest.
_AS_THEY_ARE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "text/html")


def create_app(settings: Settings, *, keys: bool = True, opened: Service | None = None) -> FastAPI:
    app = FastAPI(
        title="autotune",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=DOCUMENTED,
        lifespan=_lifespan(lambda: opened or open_service(settings, keys=keys)),
        middleware=_middleware(settings, keys=keys),
        exception_handlers={**dict.fromkeys(HANDLED, handle), 405: _refuse_method},
    )
    for each in PARTS:
        app.include_router(each.router)
    app.mount("/docs/files", StaticFiles(packages=[("fastapi_offline", "static")]))
    app.openapi = partial(_document, app.openapi)  # type: ignore[method-assign] # FastAPI's way
    return app


def _middleware(settings: Settings, *, keys: bool) -> list[Middleware]:
    """Return what a request passes, outermost first."""
    proxies = [str(each) for each in settings.proxy.addresses] if settings.proxy else []
    hosts = served(settings, keys=keys)
    return [
        Middleware(CorrelationIdMiddleware, validator=is_request_id),
        Middleware(Envelope),
        Middleware(ProxyHeadersMiddleware, trusted_hosts=["127.0.0.1", *proxies]),
        Middleware(GZipMiddleware, compresslevel=5, exclude_content_types=_AS_THEY_ARE),
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(Access, refuse=entering.refuse),
        Middleware(RequestBodyLimitMiddleware, max_body_size=settings.web.body),
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
    response = await handle(request, error)
    routes = (each for part in PARTS for each in part.router.routes if isinstance(each, APIRoute))
    fitting = [each for each in routes if each.matches(request.scope)[0] is not Match.NONE]
    if fitting:  # Otherwise it is none of our routes, and the framework knows.
        methods = {method for each in fitting for method in each.methods or ()}
        response.headers["Allow"] = ", ".join(sorted(methods))
    return response


def _document(usual: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI document with the two models that FastAPI does not know of."""
    document = usual()
    schemas = document["components"]["schemas"]
    for each in (Problem, JobEvent):
        schema = each.model_json_schema(
            mode="serialization", ref_template="#/components/schemas/{model}"
        )
        schemas |= {**schema.pop("$defs", {}), each.__name__: schema}
    return document
