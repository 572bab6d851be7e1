"""The network of a search, as far as it can be shown without leaving this one."""

from __future__ import annotations

import pytest

from autotune.api import isolation
from autotune.api.isolation import Isolation


def test_nothing_is_tried_where_the_operator_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload that reads from elsewhere keeps the machine's network."""
    monkeypatch.setattr(isolation, "refusal", lambda: pytest.fail("it was tried"))
    assert not isolation.enter(Isolation.OFF).own
