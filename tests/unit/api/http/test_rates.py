"""How often somebody may ask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.callers import Scope
from autotune.api.errors import TooManyRequests
from autotune.api.http import rates
from autotune.api.http.rates import Rates
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return its time."""
        return self.now


def many(rates: Rates, who: str) -> int:
    """Return how many requests of somebody are let in before the first that is not."""
    for number in range(1000):
        try:
            rates.count(who)
        except TooManyRequests:
            return number
    return 1000


def test_so_many_may_come_at_once_and_then_as_time_goes_on() -> None:
    """What is refused does not count."""
    clock = Clock()
    bounded = Rates(4, clock)
    assert many(bounded, "me") == 40
    clock.now = 1.0
    assert many(bounded, "me") == 4
    clock.now = 1000.0
    assert many(bounded, "me") == 40


def test_who_asks_too_often_keeps_nobody_else_out() -> None:
    """Each is counted alone."""
    bounded = Rates(1, Clock())
    assert [many(bounded, each) for each in ("me", "you")] == [10, 10]


def test_who_has_asked_long_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes up addresses or keys takes no memory."""
    monkeypatch.setattr(rates, "MOST_KNOWN", 10)
    clock = Clock()
    bounded = Rates(100, clock)
    for number in range(100):
        clock.now += 1
        bounded.count(str(number))
    assert len(bounded._used) <= 11


@pytest.fixture
def slow(app: FastAPI, anybody: TestClient) -> TestClient:
    """A client of a service that allows ten requests, and none after them."""
    app.state.service = replace(app.state.service, rates=Rates(1, Clock()))
    return anybody


def test_a_key_that_asks_too_often_is_told_when_to_come_again(
    slow: TestClient, client_with: Any
) -> None:
    """Another key is served, and so is whoever needs none."""
    first, second = client_with(Scope.READ), client_with(Scope.READ)
    answers = [first.get("/v1/workloads") for _ in range(11)]
    assert [each.status_code for each in answers] == [200] * 10 + [429]
    assert answers[-1].json()["code"] == "too-many-requests"
    assert answers[-1].headers["retry-after"] == "1"
    assert second.get("/v1/workloads").status_code == 200
    assert slow.get("/healthz").status_code == 200


def test_who_guesses_keys_is_slowed_and_keeps_no_key_out(
    slow: TestClient, client: TestClient
) -> None:
    """Though both come from the same address."""
    wrong = {"Authorization": "Bearer autotune_" + "A" * 43}
    codes = [slow.get("/v1/workloads", headers=wrong).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    assert client.get("/v1/workloads").status_code == 200


def test_who_guesses_keys_at_the_sign_in_is_slowed_as_well(
    slow: TestClient, database: Database
) -> None:
    """A key that is valid still signs in."""
    made = Keyring(database).hand_out("anna", [Scope.READ], "anna")
    here = {"Origin": "http://localhost"}
    wrong = {"key": "autotune_" + "A" * 43}
    codes = [slow.post("/sign-in", data=wrong, headers=here).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    right = slow.post("/sign-in", data={"key": made.secret}, headers=here, follow_redirects=False)
    assert right.status_code == 303
