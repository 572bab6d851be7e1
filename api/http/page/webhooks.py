"""The webhooks of a project: what they were told lately, and the form for another one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from autotune.api.callers import Caller
from autotune.api.errors import InvalidWebhook, QuotaExceeded
from autotune.api.http.access import Writer
from autotune.api.http.page.addresses import WEBHOOKS, webhooks_page
from autotune.api.http.page.entering import SEE_OTHER, PageRoute
from autotune.api.http.page.fields import Field, Option, Typed, typed_of
from autotune.api.http.page.rendering import frame_for, render
from autotune.api.http.problems import KINDS
from autotune.api.http.service import Here, Service
from autotune.api.http.webhooks import WebhookId, added
from autotune.api.requests import Text, WebhookRequest
from autotune.api.webhooks import ENDINGS, Delivery, NewWebhook, Webhook
from autotune.errors import first_mistake

MOST_SHOWN = 5
"""Deliveries of each webhook; the others are to be had from the API."""
router = APIRouter(include_in_schema=False, route_class=PageRoute)
Form = Annotated[Typed, Depends(typed_of)]


@dataclass(frozen=True, kw_only=True)
class WebhooksView:
    """The page of the webhooks of one project."""

    project: str
    """Empty where none is chosen yet."""
    choice: tuple[Field, ...]
    """Where another project is chosen, if there is a choice."""
    webhooks: tuple[tuple[Webhook, tuple[Delivery, ...]], ...]
    """Each with its latest deliveries."""
    unfinished: bool
    """Whether something of them will change."""
    events: tuple[Option, ...]
    url: str = ""
    """What was typed."""
    error: str = ""
    made: NewWebhook | None = None
    """One that was just added, with its secret."""


@router.get(WEBHOOKS)
def webhooks(key: Writer, here: Here, project: Annotated[Text, Query()] = "") -> Response:
    """Show the webhooks of a project."""
    return _page(_view(here, key, _project(key, project)), key)


@router.post(WEBHOOKS)
def add(typed: Form, key: Writer, here: Here) -> Response:
    """Add a webhook, and show its secret, this once."""
    project, events = _project(key, typed.one("project")), typed.all("events")
    try:
        request = WebhookRequest(url=typed.one("url"), events=events, project=project or None)
        made = added(here, request, key)
    except (ValidationError, InvalidWebhook, QuotaExceeded) as exc:
        told = f"{first_mistake(exc)}." if isinstance(exc, ValidationError) else str(exc)
        status = 422 if isinstance(exc, ValidationError) else KINDS[exc.kind].status
        view = _view(here, key, project, events)
        return _page(replace(view, url=typed.one("url"), error=told), key, status)
    return _page(replace(_view(here, key, made.project), made=made), key, 201)


@router.post(f"{WEBHOOKS}/{{webhook_id}}/remove")
def remove(webhook_id: WebhookId, typed: Form, key: Writer, here: Here) -> Response:
    """Remove a webhook."""
    here.webhooks.remove(webhook_id, key.project)
    return _back(key, typed)


@router.post(f"{WEBHOOKS}/{{webhook_id}}/test")
def test(webhook_id: WebhookId, typed: Form, key: Writer, here: Here) -> Response:
    """Send a webhook the event `test`; the page shows how it went."""
    here.webhooks.test(webhook_id, key.project)
    return _back(key, typed)


def _back(key: Caller, typed: Typed) -> Response:
    return RedirectResponse(webhooks_page(_project(key, typed.one("project"))), SEE_OTHER)


def _project(key: Caller, wanted: str) -> str:
    """Return the project that is shown."""
    del wanted
    return key.project


def _view(
    here: Service, key: Caller, project: str, events: tuple[str, ...] = ENDINGS
) -> WebhooksView:
    found = here.webhooks.all(project) if project else ()
    told = [here.webhooks.deliveries(each.id, project)[:MOST_SHOWN] for each in found]
    return WebhooksView(
        project=project,
        choice=(),
        webhooks=tuple(zip(found, told, strict=True)),
        unfinished=any(each.due_at for many in told for each in many),
        events=tuple(Option(value=e, label=e, chosen=e in events) for e in ENDINGS),
    )


def _page(view: WebhooksView, key: Caller, status: int = 200) -> Response:
    return render("webhooks.html", view, frame_for(key), status)
