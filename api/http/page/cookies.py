"""The cookie by which a browser is known again.

It holds the secret of a session, not the key: sessions are kept in the database, as digests, so
that they outlive a restart, are known to every API process, and are gone once they are ended.

A browser sends a cookie to every port of a host, so the port is a part of its name: two services
on one host would otherwise sign each other out.
"""

from __future__ import annotations

import re

from starlette.requests import HTTPConnection
from starlette.responses import Response

from autotune.api.store.auth import is_session

COOKIE = "autotune_session"
"""Its name, without the port."""
SESSION_SECONDS = 12 * 3600
"""A day's work; then the key is asked for again."""


def session_of(connection: HTTPConnection) -> str | None:
    """Return the secret of the session that a browser shows; a key is none."""
    found = connection.cookies.get(cookie_name(connection), "")
    return found if is_session(found) else None


def cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie for the port that the browser has called."""
    port = re.search(r":([0-9]{1,5})$", connection.headers.get("host", ""))
    return f"{COOKIE}_{port[1]}" if port else COOKIE


def keep(response: Response, connection: HTTPConnection, session: str) -> None:
    """Have the browser keep a session, away from scripts and from other sites."""
    response.set_cookie(
        cookie_name(connection),
        session,
        max_age=SESSION_SECONDS,
        path="/",
        secure=is_secure(connection),
        httponly=True,
        samesite="strict",
    )


def drop(response: Response, connection: HTTPConnection) -> None:
    """Have the browser forget its session."""
    response.delete_cookie(
        cookie_name(connection),
        path="/",
        secure=is_secure(connection),
        httponly=True,
        samesite="strict",
    )


def is_secure(connection: HTTPConnection) -> bool:
    """Return whether the browser speaks TLS, if only with a server that stands before this one."""
    origin = connection.headers.get("origin", "")
    return connection.url.scheme == "https" or origin.startswith("https://")
