"""Serves the application by uvicorn."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from autotune.api.errors import SettingsError
from autotune.api.http.app import create_app
from autotune.api.jobs import open_database
from autotune.api.keyholders import Keyholders
from autotune.api.settings import Settings

GRACE_SECONDS = 3
"""What requests get to end when the server does; event streams are ended at once."""

Tell = Callable[[str], None]


def serve(settings: Settings, host: str, port: int, tell: Tell, *, keys: bool = True) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Args:
        settings: The operator's.
        host: Name or address to listen on.
        port: Port to listen on; 0 takes a free one.
        tell: Is told the address and, at the first start of all, the first key.
        keys: Whether callers need a key.

    Raises:
        SettingsError: The settings are wrong, or everybody could reach a service without keys.
        DatabaseUnavailable: The database does not answer.
    """
    if not keys:
        _check_loopback(host)
    listener = _listener(host, port)
    app = create_app(_called_by(host, settings), keys=keys)
    first = _first_key(settings) if keys else None
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _Server(config, app, lambda: _announce(listener, first, tell)).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first, because they would not end by themselves."""
        self._app.state.service.streams.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and do not raise the signal again when all is done: ending was what was asked."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def _check_loopback(host: str) -> None:
    if host != "localhost" and not _is_loopback(host):
        raise SettingsError(
            "A service without keys may only listen on loopback.",
            "Leave out --no-keys, or take --host 127.0.0.1.",
        )


def _called_by(host: str, settings: Settings) -> Settings:
    """Return the settings with the name that is listened on, by which callers may call."""
    name = f"[{host}]" if ":" in host else host
    web = settings.web.model_copy(update={"hosts": (*settings.web.hosts, name)})
    return settings.model_copy(update={"web": web})


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listener(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
    except (OSError, OverflowError) as exc:
        why = getattr(exc, "strerror", None) or str(exc)
        raise SettingsError(
            f"Nobody can listen on {host}:{port}: {why}.", "Take another --host or --port."
        ) from exc
    return listener


def _first_key(settings: Settings) -> str | None:
    database = open_database(settings)
    try:
        made = Keyholders(database).first()
    finally:
        database.close()
    return made.secret if made else None


def _announce(listener: socket.socket, first: str | None, tell: Tell) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    tell(f"autotune listens on http://{shown}:{port}")
    if first is not None:
        tell(f"First key, shown this once, good for everything: {first}")
