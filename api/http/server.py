"""Serves the application by uvicorn."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from autotune.api.errors import SettingsError
from autotune.api.http.access import in_address, is_loopback
from autotune.api.http.app import create_app
from autotune.api.http.service import Service, open_service
from autotune.api.settings import PRIVATE, Settings

GRACE_SECONDS = 3
"""What requests get to end when the server does; event streams are ended at once."""

SWITCH_SECONDS = 0.001
"""Answers are made in threads; the one that reads and writes waits for each at most so long."""

FIRST_KEY = "first-key"
"""File of the data folder for the first key, where no terminal can show it."""
Notify = Callable[[str], None]


def serve(settings: Settings, host: str, port: int, notify: Notify, *, keys: bool = True) -> None:
    if not keys:
        _check_loopback(host)
    named = _called_by(host, settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    os.umask(PRIVATE)
    with _listener(host, port) as listener:
        service = _opened(named, keys=keys)
        app = create_app(named, keys=keys, opened=service)
        config = uvicorn.Config(
            app,
            proxy_headers=False,  # The application heeds those of the proxies that it knows.
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        ready = partial(_announce, listener, service, notify, named.data)
        _Server(config, service, ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
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


def _check_loopback(host: str) -> None:
    if not is_loopback(host):
        raise SettingsError(
            "--no-keys is only allowed with a loopback host.",
            "Remove --no-keys, or use --host 127.0.0.1.",
        )


def _called_by(host: str, settings: Settings) -> Settings:
    """Return the settings with the name that is listened on, by which callers may call."""
    hosts = (*settings.web.hosts, in_address(host))
    web = settings.web.model_copy(update={"hosts": hosts})
    return settings.model_copy(update={"web": web})


def _listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
    except (OSError, OverflowError) as exc:
        why = getattr(exc, "strerror", None) or str(exc)
        raise SettingsError(
            f"Cannot listen on {host}:{port}: {why}.", "Choose another --host or --port."
        ) from exc
    return listener


def _opened(settings: Settings, *, keys: bool) -> Service:
    try:
        return open_service(settings, keys=keys)
    except OSError as exc:
        raise SettingsError(
            f"The data folder {settings.data.absolute()} cannot be created: {exc.strerror}.",
            "Set another `data` folder in the settings.",
        ) from exc


def _announce(listener: socket.socket, service: Service, notify: Notify, folder: Path) -> None:
    host, port = listener.getsockname()[:2]
    notify(f"autotune is listening on http://{in_address(host)}:{port}")
    # Made no sooner: it would be lost if the service could not start.
    first = service.keyring and service.keyring.first()
    if first and sys.stdout.isatty():
        notify(f"First API key (all scopes), shown only once: {first.secret}")
    elif first:
        # What is printed here may be kept in a journal permanently.
        kept = folder / FIRST_KEY
        kept.write_text(f"{first.secret}\n", "utf-8")
        notify(f"First API key (all scopes): in {kept.absolute()}; keep it elsewhere and remove it")
