"""What a webhook is sent, and how it is signed."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from autotune.api.states import FINAL, State
from autotune.api.webhooks import (
    WHERE,
    EndedJob,
    Notification,
    Occasion,
    Parcel,
    headers,
    new_secret,
    signature,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - of the published example
JOB = EndedJob(
    id="0" * 24, workload="digits", state=State.DONE, verdict=None, summary=None, reason=None
)


@pytest.fixture
def parcel() -> Parcel:
    """An attempt, while a secret is being replaced."""
    return Parcel(
        id="msg_1",
        webhook="w",
        url="https://example.org",
        secrets=(SECRET, new_secret()),
        attempt=1,
        held_until=0.0,
        body=Notification(type=Occasion.DONE, timestamp=1772443800.0, data=JOB),
    )


def test_the_signature_is_that_of_the_published_example() -> None:
    """The one of the specification's own libraries."""
    signed = b'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
    assert signature([SECRET], signed) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_another_implementation_verifies_what_is_sent(parcel: Parcel) -> None:
    """By either of two secrets, and by no third one."""
    library: Any = pytest.importorskip("standardwebhooks", reason="an extra of `dev`")
    body = parcel.body.model_dump_json().encode()
    sent = dict(headers(parcel, body, time.time()))
    for each in parcel.secrets:
        found = library.Webhook(each).verify(body, sent)
        assert found["data"]["url"] == f"/v1/tunings/{JOB.id}"
        assert found["timestamp"] == "2026-03-02T09:30:00Z"
    with pytest.raises(library.WebhookVerificationError):
        library.Webhook(new_secret()).verify(body, sent)


def test_no_secret_is_printed(parcel: Parcel) -> None:
    """Not even by accident, in a log."""
    assert "whsec_" not in repr(parcel)


def test_every_end_of_a_job_is_an_occasion() -> None:
    """And each of them says which end it is."""
    assert {Occasion.of(each).state for each in FINAL} == FINAL
    assert Occasion.TEST.state is None


@pytest.mark.parametrize(
    "url",
    ["https://a.example/x?y=1", "http://10.0.0.1:8080", "https://[2001:db8::1]/", "https://a?b"],
)
def test_addresses_that_may_be_named(url: str) -> None:
    """Host, port, path and query."""
    assert re.fullmatch(WHERE, url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "https://user:word@a.example",
        "https://a.example@b.example",
        "https://a.example#b",
        "https://a.example\\@b.example",
        "https://a.example/\r\nX: y",
        "https:///etc/passwd",
        "https://é.example",
        "https://a.example:80808080",
    ],
)
def test_addresses_that_may_not_be_named(url: str) -> None:
    """Other schemes, users, and whatever two programs may read in two ways."""
    assert not re.fullmatch(WHERE, url)
