"""Views become HTML; nothing in them is ever taken for markup."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse

from autotune.api.http.access import EVERYTHING
from autotune.api.http.page import assets
from autotune.api.store.auth import Key, Scope
from autotune.api.values import moment
from autotune.report.html.page import fragments

# The usual `no-referrer` would have browsers send forms from an origin that they call `null`.
HEADERS = {"Referrer-Policy": "same-origin"}


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What stands around every page."""

    who: str | None
    """The name of the key that is signed in; None where nobody signs in."""
    signed_in: bool
    may_write: bool


STRANGER = Frame(who=None, signed_in=False, may_write=False)


def frame_for(key: Key) -> Frame:
    """Return what stands around the pages of whoever shows a key."""
    who = None if key == EVERYTHING else key.name
    return Frame(who=who, signed_in=True, may_write=Scope.WRITE in key.scopes)


def frame_of(connection: HTTPConnection) -> Frame:
    """Return what stands around a page, known by whom or not."""
    key = getattr(connection.state, "key", None)
    return STRANGER if key is None else frame_for(key)


def render(template: str, view: object, frame: Frame, status: int = 200) -> HTMLResponse:
    """Return a page."""
    text = _environment().get_template(template).render(view=view, frame=frame)
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def _environment() -> Environment:
    made = fragments(__package__ or "")
    made.globals["asset"] = assets.address
    made.filters["at"] = moment
    return made
