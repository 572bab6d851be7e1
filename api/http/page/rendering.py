"""Views become HTML; the style sheet, the icon and the scripts stand beside them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from jinja2 import Environment
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

from autotune.api.http.access import EVERYTHING, Reader
from autotune.api.roles import Caller, Scope, is_person
from autotune.api.values import moment
from autotune.result.html import SCRIPT, STYLE, environment, part

KEPT = "private, max-age=31536000, immutable"
"""An address holds a digest of the content, so that a browser may keep it."""
router = APIRouter(include_in_schema=False)


@cache
def content(name: str) -> str:
    """Return a file's text; the report has the same style sheet, and the same script to copy."""
    if name in (STYLE, SCRIPT):
        return part(name)
    return files(__package__).joinpath("static", name).read_text("utf-8")


@cache
def address(name: str) -> str:
    """Return where a file is; another content has another address."""
    mark = hashlib.sha256(content(name).encode()).hexdigest()[:12]
    return f"/page/{name}?v={mark}"


@router.get(f"/page/{STYLE}")
async def style() -> Response:
    """Get the style sheet; the page that asks for a key needs it, too."""
    return _file(STYLE, "text/css")


@router.get("/page/icon.svg")
async def icon() -> Response:
    """Get the icon; likewise."""
    return _file("icon.svg", "image/svg+xml")


@router.get("/page/page.js")
async def script(_: Reader) -> Response:
    """Get the script that follows a job."""
    return _file("page.js", "text/javascript")


@router.get(f"/page/{SCRIPT}")
async def copying(_: Reader) -> Response:
    """Get the script that copies programs."""
    return _file(SCRIPT, "text/javascript")


def _file(name: str, media_type: str) -> Response:
    return Response(content(name), media_type=media_type, headers={"Cache-Control": KEPT})


# The usual `no-referrer` would have browsers send forms from an origin that they call `null`.
HEADERS = {"Referrer-Policy": "same-origin"}


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What stands around every page."""

    who: str | None
    """The name of the key or person that is signed in; None where nobody signs in."""
    person: bool
    signed_in: bool
    may_cancel: bool = False


STRANGER = Frame(who=None, person=False, signed_in=False)


def frame_for(key: Caller, project: str | None = None) -> Frame:
    """Return what stands around the pages of a caller; `project` is whose job is shown."""
    who = None if key == EVERYTHING else key.name
    may_cancel = project is not None and key.may(Scope.WRITE, project)
    return Frame(who=who, person=is_person(key.id), signed_in=True, may_cancel=may_cancel)


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
    made = environment(__package__ or "")
    made.globals["asset"] = address
    made.filters["at"] = moment
    return made
