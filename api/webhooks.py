"""Webhooks: which addresses are told that a job ended, in which words, and signed how.

Signatures and headers are those of Standard Webhooks (standardwebhooks.com).
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, computed_field

from autotune.api.states import FINAL, State
from autotune.api.values import Time, address
from autotune.value import Value
from autotune.version import VERSION

SECRET = "whsec_"  # noqa: S105 - begins every secret, and is none
WHERE = r"^https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?([/?][!$-~]*)?$"
"""An address with neither user nor fragment."""


class Occasion(StrEnum):
    """What a webhook is told of."""

    DONE = f"job.{State.DONE}"
    """A job has a recommendation."""
    FAILED = f"job.{State.FAILED}"
    """A job ended without one."""
    CANCELLED = f"job.{State.CANCELLED}"
    """A job was cancelled."""
    TEST = "test"
    """Somebody wants to see that it works; it is tried once."""

    @property
    def state(self) -> State | None:
        """The state of the job that it tells of."""
        return next((each for each in FINAL if self is Occasion.of(each)), None)

    @classmethod
    def of(cls, state: State) -> Occasion:
        """Return what tells that a job has reached a state, which is a final one."""
        return cls(f"job.{state}")


ENDINGS = (Occasion.DONE, Occasion.FAILED, Occasion.CANCELLED)


class Standing(StrEnum):
    """What became of a delivery."""

    PENDING = "pending"
    """It is sent for the first time, or again, when it is due."""
    DELIVERED = "delivered"
    """The receiver has answered with a status of 200 to 299."""
    FAILED = "failed"
    """It is not sent any more."""


class Trouble(StrEnum):
    """Why an attempt, or the whole delivery, came to nothing."""

    STATUS = "status"
    """The receiver has answered with another status; redirects are not followed."""
    NOT_ALLOWED = "not-allowed"
    """The address is that of a machine that must not be called."""
    UNREACHABLE = "unreachable"
    """There was no connection, or no answer that could be read."""
    TIMEOUT = "timeout"
    """The answer took too long."""
    QUEUE_FULL = "queue-full"
    """Too many others wait for the same receiver."""
    EXPIRED = "expired"
    """It is too old to be of use."""


class Webhook(Value):
    """An address that is told when jobs of a project end."""

    id: str
    project: str
    """Whose jobs it is told of."""
    url: str
    events: tuple[Occasion, ...]
    """What it is told of."""
    created_by: str | None
    """The id of the key or person that added it."""
    created_at: Time


class NewWebhook(Webhook):
    """A webhook with its secret, which is shown once."""

    secret: Annotated[str, Field(repr=False)]
    """What is sent is signed with it."""


class Delivery(Value):
    """What a webhook is told of one occasion."""

    id: str
    """The same in every attempt: the header `webhook-id`."""
    event: Occasion
    job: str | None
    """The id of the job; null for a test."""
    state: Standing
    attempts: int
    """How often it was sent."""
    status: int | None
    """Of the answer to the last attempt."""
    error: Trouble | None
    """Why the last attempt failed."""
    created_at: Time
    tried_at: Time | None
    """When it was sent the last time."""
    due_at: Time | None
    """When it is sent again; null if it is not."""


class EndedJob(Value):
    """What a webhook is told of a job; the rest is to be fetched."""

    id: str
    workload: str | None
    state: State
    verdict: str | None
    summary: str | None
    """The verdict in a sentence."""
    reason: str | None
    """Why it failed."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def url(self) -> str:
        """Its address within the service."""
        return address(self.id)


class Notification(Value):
    """The body of what a webhook is sent."""

    type: Occasion
    timestamp: Time
    """When it happened."""
    data: EndedJob | None
    """The job; null for a test."""


class Parcel(Value):
    """One attempt at a delivery, which one sender has."""

    id: str
    webhook: str
    url: str
    secrets: Annotated[tuple[str, ...], Field(repr=False)]
    """The present one, and one that was replaced while it is still valid."""
    attempt: int
    held_until: float
    """Until then nobody else sends anything to the same webhook."""
    body: Notification


def new_secret() -> str:
    """Return 256 random bits, as Standard Webhooks writes them."""
    return SECRET + base64.b64encode(secrets.token_bytes(32)).decode()


def headers(parcel: Parcel, body: bytes, now: float) -> Mapping[str, str]:
    """Return the headers that go with a body.

    Args:
        parcel: What is sent.
        body: Its body, as it is sent.
        now: Seconds since 1970.
    """
    at = str(int(now))
    return {
        "content-type": "application/json",
        "user-agent": f"autotune/{VERSION}",
        "webhook-id": parcel.id,
        "webhook-timestamp": at,
        "webhook-signature": signature(parcel.secrets, f"{parcel.id}.{at}.".encode() + body),
    }


def signature(with_secrets: Iterable[str], signed: bytes) -> str:
    """Return a signature by each of some secrets, of which a receiver knows one."""
    keys = (base64.b64decode(each.removeprefix(SECRET)) for each in with_secrets)
    digests = (hmac.digest(key, signed, "sha256") for key in keys)
    return " ".join(f"v1,{base64.b64encode(each).decode()}" for each in digests)
