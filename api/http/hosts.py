"""By which names the service may be called."""

from __future__ import annotations

import ipaddress
import platform

from autotune.api.settings import Settings

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def is_loopback(host: str) -> bool:
    """Return whether a name leads to this machine from itself only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def in_address(host: str) -> str:
    """Return a name or address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def served(settings: Settings, *, keys: bool) -> list[str]:
    """Return all names by which callers may call.

    Without keys these are loopback's alone, so that no web page can by a name of its own.
    """
    listed = settings.web.hosts
    own = (platform.node().lower(), *listed) if keys else filter(is_loopback, listed)
    return [each for each in (*LOOPBACK, *own) if each]
