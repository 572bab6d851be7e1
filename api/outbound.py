"""Calls to addresses that users name: to the public internet, and to what the operator allows.

What counts is the address that is really connected to, whatever a name led to before. Redirects
and proxies are not followed, of an answer only the head is read, and no call takes long.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpcore2 as httpcore
import psutil

from autotune.api.errors import InvalidWebhook
from autotune.api.settings import WebhookLimits

UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is public; what else there is leads to IPv4, or nowhere."""


class NotAllowed(Exception):
    """A name leads only to addresses that must not be called."""


class Outbound:
    """Calls what may be called.

    Args:
        limits: The operator's.
    """

    def __init__(self, limits: WebhookLimits) -> None:
        self.limits = limits

    def check(self, url: str) -> None:
        """Make sure that an address may be called, as far as that shows before a call.

        Raises:
            InvalidWebhook: It may not.
        """
        host = _host(url)
        if not self.limits.plain and urlsplit(url).scheme != "https":
            raise InvalidWebhook("The URL of a webhook must begin with https://.", "Use TLS.")
        if _is_address(host) and not (self._is_listed(host) or is_public(host)):
            raise InvalidWebhook(
                "The URL of a webhook must not name a private address.",
                "Use a public one, or ask the operator to list this host.",
            )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Return the status of the answer.

        Raises:
            InvalidWebhook: The address must not be called.
            NotAllowed: It leads to one that must not.
            TimeoutError: The answer took too long.
            OSError: There was no connection.
            httpcore2.NetworkError: As before.
            httpcore2.ProtocolError: The answer cannot be read.
        """
        self.check(url)
        backend = _Checked(self._is_listed)
        with anyio.fail_after(self.limits.seconds):
            async with (
                httpcore.AsyncConnectionPool(_tls(), network_backend=backend) as pool,
                pool.stream("POST", url, headers=[*headers.items()], content=body) as response,
            ):
                return int(response.status)

    def _is_listed(self, host: str) -> bool:
        named = host.lower().strip("[]").rstrip(".")
        listed = (each.lower().strip("[]") for each in self.limits.hosts)
        return any(fnmatchcase(named, each) for each in listed)


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet, and not of this machine."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        public = found in UNICAST and found.sixtofour is None
    else:
        public = not found.is_multicast
    return public and found.is_global and str(found) not in _own()


class _Checked(httpcore.AsyncNetworkBackend):
    """Connects to what a name leads to and may be called.

    Args:
        is_listed: Tells whether a host may be called wherever it is.
    """

    def __init__(self, is_listed: Callable[[str], bool]) -> None:
        self._is_listed = is_listed
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if not self._is_listed(host):
            addresses = [each for each in addresses if is_public(each)]
        if not addresses:
            raise NotAllowed
        for each in addresses[:-1]:
            try:
                return await self._plain.connect_tcp(
                    each, port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError:
                continue
        return await self._plain.connect_tcp(
            addresses[-1], port, timeout, local_address, socket_options
        )


def _host(url: str) -> str:
    """Return the host of an address.

    Raises:
        InvalidWebhook: It has none, or none that could be.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise InvalidWebhook("The URL of a webhook is not valid.", "Check host and port.") from exc
    return host or ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _own() -> set[str]:
    """Return the addresses of this machine."""
    return {each.address for those in psutil.net_if_addrs().values() for each in those}


@cache  # Reading all authorities takes longer than a call.
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
