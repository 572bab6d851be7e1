"""What becomes of a search that can have no network of its own."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.api import isolation
from autotune.api.errors import SettingsError
from autotune.api.isolation import Isolation, Network

OWN = Path("/proc/self/ns/net")


def refuses(code: int) -> Callable[[], None]:
    def separate() -> None:
        raise OSError(code, os.strerror(code))

    return separate


def test_what_the_system_says_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends at once finds out, and its parent stays where it is."""
    monkeypatch.setattr(isolation, "_separate", refuses(errno.ENOSPC))
    assert isolation.refusal() == os.strerror(errno.ENOSPC)
    before = OWN.readlink()
    assert isolation.enter(Isolation.AUTO) == Network(own=False, why=os.strerror(errno.ENOSPC))
    assert OWN.readlink() == before


def test_an_error_of_any_kind_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that tried it never goes on as a second one of its parent."""
    monkeypatch.setattr(isolation, "_separate", lambda: 1 / 0)
    assert isolation.refusal() is not None


def test_whoever_must_have_one_learns_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_separate", refuses(errno.EPERM))
    with pytest.raises(SettingsError, match=r"not permitted.*isolation"):
        isolation.check()
