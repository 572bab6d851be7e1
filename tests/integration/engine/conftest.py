"""Requests for real trials."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.register_assert_rewrite("autotune.testing.contract")

from autotune.engine.tasks.train import TrialRequest  # noqa: E402
from tests.trials import request_for  # noqa: E402 - it imports the contract

MakeRequest = Callable[..., TrialRequest]


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """Return a function that makes a request for one of the programs, or for a program's text."""
    return request_for
