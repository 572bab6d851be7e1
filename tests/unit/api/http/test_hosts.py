"""By which names the service may be called."""

from __future__ import annotations

import pytest

from autotune.api.http.hosts import is_loopback, served
from autotune.api.settings import Settings


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.2", True),
        ("[::1]", True),
        ("0.0.0.0", False),  # noqa: S104
        ("192.0.2.1", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback_is_known_by_its_address(host: str, loopback: bool) -> None:  # noqa: FBT001
    """A name may lead anywhere, but for one."""
    assert is_loopback(host) is loopback


def test_without_keys_only_loopback_is_served(settings: Settings) -> None:
    """A name that is listed leads to a service with keys only."""
    web = settings.web.model_copy(update={"hosts": ("tuner.example.org", "127.0.0.2")})
    settings = settings.model_copy(update={"web": web})
    assert "127.0.0.2" in served(settings, keys=False)
    assert "tuner.example.org" not in served(settings, keys=False)
    assert {"127.0.0.2", "tuner.example.org"} < set(served(settings, keys=True))
