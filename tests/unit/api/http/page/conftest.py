"""Browsers: clients that sign in by the form, and send what a browser sends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
    with TestClient(
        app, base_url="http://localhost", headers=SAME, raise_server_exceptions=False
    ) as client:
        yield client


@pytest.fixture
def browser(stranger: TestClient, made: NewKey) -> TestClient:
    answer = stranger.post("/sign-in", data={"key": made.secret}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return stranger


Text = Callable[[str], str]


@pytest.fixture
def text() -> Text:
    return lambda page: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))
