"""The application: routes, what stands before them, and the server that serves them."""

import asyncio
import json
import logging
import os
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from asgi_correlation_id import CorrelationIdMiddleware
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from autotune.api.http import rest
from autotune.api.http.access import Access, in_address, is_loopback, served
from autotune.api.http.middleware import BodyLimit, Envelope, is_request_id
from autotune.api.http.page import pages
from autotune.api.http.problems import DOCUMENTED, HANDLED
from autotune.api.http.service import Service
from autotune.api.log import log
from autotune.api.settings import PRIVATE, Settings
from autotune.errors import in_words
from autotune.face import Face, shown_by
from autotune.versions import VERSION
from autotune.wire.errors import Problem, SettingsError
from autotune.wire.events import JobEvent

DESCRIPTION = (
    "Create a tuning job for uploaded code or for a registered workload, follow it, and fetch the "
    "best configuration and its training program. Errors are problem details (RFC 9457)."
)
ROUTERS = (rest.tunings, rest.uploads, rest.operating, pages.router)
# The compressed length of a page that shows what a request has sent would reveal the rest.
_AS_THEY_ARE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "text/html")
GRACE_SECONDS = 3
"""Time for open requests to end with the server; event streams are ended at once."""
HEAD_SECONDS = 10.0
"""Time for a new connection to send the head of its first request."""
SWITCH_SECONDS = 0.001
"""Answers are made in threads; the one that reads and writes waits for each at most so long."""
FIRST_KEY = "first-key"
"""File of the data folder for the first key, where no terminal can show it."""
Notify = Callable[[str], None]


def create_app(service: Service) -> FastAPI:
    app = FastAPI(
        title="autotune",
        version=VERSION,
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=DOCUMENTED,
        middleware=_middleware(service.settings, keys=service.keyring is not None),
        exception_handlers={**dict.fromkeys(HANDLED, pages.refuse), 405: _refuse_method},
    )
    app.state.service = service
    for each in ROUTERS:
        app.include_router(each)
    app.openapi = partial(_document, app.openapi)  # type: ignore[method-assign] # FastAPI's way
    app.add_api_route("/openapi.json", _openapi, include_in_schema=False)
    return app


async def _openapi(request: Request) -> Response:
    """Get the document of the API, which is made once."""
    app = request.app
    if not hasattr(app.state, "document"):
        app.state.document = json.dumps(app.openapi()).encode()
    return pages.constant(request, app.state.document, "application/json")


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
        Middleware(Access, refuse=pages.refuse),
        Middleware(BodyLimit, usual=settings.web.body, code=settings.code.bytes),
    ]


async def _refuse_method(request: Request, error: Exception) -> Response:
    """Answer with all methods of an address; the framework names those of one route."""
    response = await pages.refuse(request, error)
    routes = (each for router in ROUTERS for each in router.routes if isinstance(each, APIRoute))
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


@shown_by(Face.SERVICE)
def serve(settings: Settings, host: str, port: int, notify: Notify, *, keys: bool = True) -> None:
    if not keys and not is_loopback(host):
        raise SettingsError(
            "--no-keys is only allowed with a loopback host.",
            "Remove --no-keys, or use --host 127.0.0.1.",
        )
    # Callers may call by the name that is listened on.
    web = settings.web.model_copy(update={"hosts": (*settings.web.hosts, in_address(host))})
    sys.setswitchinterval(SWITCH_SECONDS)
    os.umask(PRIVATE)
    with listening(host, port) as listener:
        service = Service(settings.model_copy(update={"web": web}), keys=keys)
        config = uvicorn.Config(
            create_app(service),
            proxy_headers=False,  # The application heeds those of the proxies that it knows.
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            http=Impatient,
        )
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            _Server(config, service, partial(_announce, listener, service, notify)).run([listener])
        finally:
            service.close()


class Impatient(H11Protocol):
    """A connection that ends unless its first request has come whole in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._due = self.loop.call_later(HEAD_SECONDS, self._end_unless_asked)

    def connection_lost(self, exc: Exception | None) -> None:
        self._due.cancel()
        super().connection_lost(exc)

    def _end_unless_asked(self) -> None:
        if self.cycle is None:
            self.transport.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_complaints())
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.streams.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and do not raise the signal again when all is done: ending was what was asked."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def _complaints() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return what logs errors of the event loop, a line each, and equal ones once a minute."""
    due = dict[str, float]()

    def complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        what = str(context.get("message", "An error of the event loop."))
        now, error = loop.time(), repr(context.get("exception"))
        if now >= due.get(what, now):
            due[what] = now + 60.0
            log("The server complains.", logging.ERROR, what=what, error=error)

    return complain


def listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
    except (OSError, OverflowError) as exc:
        raise SettingsError(
            f"Cannot listen on {host}:{port}: {in_words(exc)}.", "Choose another --host or --port."
        ) from exc
    return listener


def _announce(listener: socket.socket, service: Service, notify: Notify) -> None:
    host, port = listener.getsockname()[:2]
    notify(f"autotune is listening on http://{in_address(host)}:{port}")
    # Made no sooner: it would be lost if the service could not start.
    first = service.keyring and service.keyring.first(code=is_loopback(host))
    if first and sys.stdout.isatty():
        notify(f"First API key (all scopes), shown only once: {first.secret}")
    elif first:
        # A journal may keep permanently what is printed here.
        kept = service.settings.data / FIRST_KEY
        kept.write_text(f"{first.secret}\n", "utf-8")
        notify(f"First API key (all scopes): in {kept.absolute()}; keep it elsewhere and remove it")
