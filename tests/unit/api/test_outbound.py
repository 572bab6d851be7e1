"""Which addresses are called."""

from __future__ import annotations

import asyncio
import socket

import psutil
import pytest

from autotune.api.errors import InvalidWebhook
from autotune.api.outbound import NotAllowed, Outbound, is_public
from autotune.api.settings import WebhookLimits

PRIVATE = (
    "127.0.0.1",
    "0.0.0.0",  # noqa: S104 - it must not be called
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%lo",
    "fec0::1",
    "fd00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "2002:7f00:1::1",
    "64:ff9b::a00:1",
    "2001::1",
)
NAMED = ("localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]")
"""Ways to write this machine's own address."""


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public(address: str) -> None:
    """Private, loopback, link-local, and what wraps such an address."""
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_what_is_public(address: str) -> None:
    """Anything else."""
    assert is_public(address)


def test_the_machine_itself_is_not_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its public address it would get behind its own firewall."""
    own = type("Address", (), {"address": "8.8.8.8"})
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": [own]})
    assert not is_public("8.8.8.8")


@pytest.mark.parametrize("host", NAMED)
def test_a_name_that_leads_to_loopback_is_not_called(host: str) -> None:
    """Whatever it looks like; a server that listens there hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        outbound = Outbound(WebhookLimits(plain=True))
        url = f"http://{host}:{server.getsockname()[1]}/"
        with pytest.raises((NotAllowed, InvalidWebhook)):
            asyncio.run(outbound.post(url, {}, b"{}"))
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("host", ["[0]", "[::1", "example.org:99999"])
def test_an_address_that_cannot_be_is_refused(host: str) -> None:
    """As a wrong call, not as a failure of the service."""
    for limits in (WebhookLimits(), WebhookLimits(plain=True)):
        with pytest.raises(InvalidWebhook, match="not valid"):
            Outbound(limits).check(f"http://{host}/")


def test_private_addresses_of_another_name_do_not_hide_behind_a_public_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of all that a name leads to, only what is public is connected to."""
    called = []

    async def two(*_: object, **__: object) -> list[object]:
        return [(0, 0, 0, "", (each, 0)) for each in ("127.0.0.1", "8.8.8.8", "10.0.0.1")]

    async def connect(_: object, host: str, *__: object) -> None:
        called.append(host)
        raise OSError

    monkeypatch.setattr("autotune.api.outbound.anyio.getaddrinfo", two)
    monkeypatch.setattr("httpcore2.AnyIOBackend.connect_tcp", connect)
    with pytest.raises(OSError):  # noqa: PT011 - the one from above
        asyncio.run(Outbound(WebhookLimits()).post("https://a.example", {}, b""))
    assert called == ["8.8.8.8"]


def test_what_the_operator_lists_may_be_called() -> None:
    """A name, those below a name, or an address."""
    outbound = Outbound(WebhookLimits(hosts=("*.intern", "[fd00::5]", "10.0.0.5")))
    for each in ("https://ci.Intern/x", "https://[fd00::5]", "https://10.0.0.5:8443"):
        outbound.check(each)
    for each in ("https://10.0.0.6", "https://[fd00::6]"):
        with pytest.raises(InvalidWebhook):
            outbound.check(each)


def test_plain_http_needs_the_operator() -> None:
    """The body names jobs."""
    with pytest.raises(InvalidWebhook, match="https"):
        Outbound(WebhookLimits()).check("http://a.example")
    Outbound(WebhookLimits(plain=True)).check("http://a.example")
