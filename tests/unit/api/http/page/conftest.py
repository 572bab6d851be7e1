"""Browsers: clients that sign in by the form, and send what a browser sends."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.identity import Scope
from autotune.api.store.auth import Keyring, NewKey
from autotune.api.store.database import Database

SAME = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
"""What a browser tells of a form of this service."""


@pytest.fixture
def made(database: Database) -> NewKey:
    return Keyring(database).hand_out("anna", [Scope.READ, Scope.WRITE], "anna")


@pytest.fixture
def stranger(app: FastAPI) -> Iterator[TestClient]:
    options = {"raise_server_exceptions": False, "follow_redirects": False}
    with TestClient(app, base_url="http://localhost", headers=SAME, **options) as client:
        yield client


@pytest.fixture
def browser(stranger: TestClient, made: NewKey) -> TestClient:
    answer = stranger.post("/sign-in", data={"key": made.secret})
    assert answer.status_code == 303, answer.text
    return stranger
