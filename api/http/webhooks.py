"""Webhooks: adding and removing them, and what they were told."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path
from pydantic import AfterValidator

from autotune.api.callers import Caller
from autotune.api.errors import NotFound
from autotune.api.http import examples
from autotune.api.http.access import Writer
from autotune.api.http.answers import DeliveriesAnswer, WebhooksAnswer
from autotune.api.http.examples import json_answer
from autotune.api.http.middleware import json_only
from autotune.api.http.problems import CHANGING, CLOSED, documented
from autotune.api.http.service import Here, Service
from autotune.api.requests import WebhookRequest
from autotune.api.webhooks import Delivery, NewWebhook, Notification

router = APIRouter(tags=["webhooks"])
callbacks = APIRouter()
"""What the service calls, and not what it is called by."""


def checked_id(webhook_id: str) -> str:
    """Return the id in an address.

    Raises:
        NotFound: It is none; a database may not even take the question.
    """
    if not re.fullmatch("[0-9a-f]{24}", webhook_id):
        raise NotFound("Webhook not found.", "Check the id.")
    return webhook_id


WebhookId = Annotated[
    str,
    AfterValidator(checked_id),
    Path(description="A webhook's id.", examples=[examples.WEBHOOK["id"]]),
]
_FOR_ONE = ("not-found", "invalid-request")
_CHANGES_ONE = (*_FOR_ONE, "body-too-large", *CHANGING)


@router.post(
    "/v1/webhooks",
    status_code=201,
    summary="Add a webhook",
    responses={
        201: json_answer(examples.NEW_WEBHOOK, "The webhook, with its secret."),
        **documented(
            "malformed-body",
            "body-too-large",
            "unsupported-media-type",
            "invalid-request",
            "invalid-webhook",
            "not-found",
            "quota-exceeded",
            *CHANGING,
        ),
    },
    dependencies=[Depends(json_only)],
)
def add(
    request: Annotated[WebhookRequest, Body(openapi_examples=examples.WEBHOOK_REQUESTS)],
    key: Writer,
    here: Here,
) -> NewWebhook:
    """Have an address told when jobs of a project end. The secret is shown only here.

    What is sent is signed as Standard Webhooks (standardwebhooks.com) has it. It may come more than
    once, then with the same `webhook-id`.
    """
    return added(here, request, key)


def added(here: Service, request: WebhookRequest, key: Caller) -> NewWebhook:
    """Add a webhook that a caller asks for.

    Raises:
        InvalidWebhook: The address must not be called.
        QuotaExceeded: The project has as many as it may.
        NotFound: The caller does not know the project.
        ScopeMissing: It may only look there.
        ProjectMissing: There are several.
    """
    project = key.project
    here.outbound.check(request.url)
    return here.webhooks.add(request.url, sorted(set(request.events)), project, key.id)


@router.get(
    "/v1/webhooks",
    summary="List the webhooks",
    responses={200: json_answer(examples.WEBHOOKS, "Oldest first."), **documented(*CLOSED)},
)
def listed(key: Writer, here: Here) -> WebhooksAnswer:
    """List the webhooks of the caller's projects; with the scope admin, all."""
    return WebhooksAnswer(webhooks=here.webhooks.all(key.project))


@router.delete(
    "/v1/webhooks/{webhook_id}",
    status_code=204,
    summary="Remove a webhook",
    responses=documented(*_CHANGES_ONE),
)
def remove(webhook_id: WebhookId, key: Writer, here: Here) -> None:
    """Remove a webhook; it is told nothing any more."""
    here.webhooks.remove(webhook_id, key.project)


@router.post(
    "/v1/webhooks/{webhook_id}/rotate",
    summary="Replace the secret of a webhook",
    responses={
        200: json_answer(examples.NEW_WEBHOOK, "The webhook, with its new secret."),
        **documented(*_CHANGES_ONE),
    },
)
def rotate(webhook_id: WebhookId, key: Writer, here: Here) -> NewWebhook:
    """Replace the secret; for a day, what is sent is signed with the old one as well."""
    return here.webhooks.rotate(webhook_id, key.project)


@router.post(
    "/v1/webhooks/{webhook_id}/test",
    status_code=202,
    summary="Test a webhook",
    responses={
        202: json_answer(
            examples.TESTING, "It is about to be sent; the deliveries show how it went."
        ),
        **documented(*_CHANGES_ONE, "quota-exceeded"),
    },
)
def test(webhook_id: WebhookId, key: Writer, here: Here) -> Delivery:
    """Send a webhook the event `test`, once."""
    return here.webhooks.test(webhook_id, key.project)


@router.get(
    "/v1/webhooks/{webhook_id}/deliveries",
    summary="List the deliveries of a webhook",
    responses={
        200: json_answer(examples.DELIVERIES, "Newest first."),
        **documented(*_FOR_ONE, *CLOSED),
    },
)
def deliveries(webhook_id: WebhookId, key: Writer, here: Here) -> DeliveriesAnswer:
    """List what a webhook was told lately, what came of it, and what is still to be sent."""
    return DeliveriesAnswer(deliveries=here.webhooks.deliveries(webhook_id, key.project))


@callbacks.post("job-ended", summary="A job has ended", status_code=204)
def ended(body: Notification) -> None:
    """Receive what happened, with the headers `webhook-id`, `-timestamp` and `-signature`.

    Any status of 200 to 299 takes it; after any other it is sent again, later and later.
    """
