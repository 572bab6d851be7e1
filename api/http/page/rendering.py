"""Templates become pages; the style sheet, the icon and the scripts stand beside them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, Response

from autotune.api.callers import Scope
from autotune.api.http.access import EVERYBODY
from autotune.api.identity import PERSON
from autotune.api.labels import selectors
from autotune.api.states import FINAL
from autotune.api.values import moment
from autotune.result.html import SCRIPT, STYLE, environment, part
from autotune.text import clock, roughly

KINDS = {
    STYLE: "text/css",
    SCRIPT: "text/javascript",
    "page.js": "text/javascript",
    "docs.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
KEPT = "private, max-age=31536000, immutable"
"""An address holds a digest of the content, so that a browser may keep it."""
# The usual `no-referrer` would have browsers send forms from an origin that they call `null`.
HEADERS = {"Referrer-Policy": "same-origin"}
# The usual policy, and the pictures within Swagger UI's style sheet.
DOCS_POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
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


@router.get("/page/{name}")
async def show_file(name: str) -> Response:
    """Get a file; the page that asks for a key needs them, too."""
    if name not in KINDS:
        raise HTTPException(404)
    return Response(content(name), media_type=KINDS[name], headers={"Cache-Control": KEPT})


@router.get("/docs")
async def show_docs(request: Request) -> Response:
    """Show the OpenAPI document by Swagger UI, whose files are served here."""
    page = render("docs.html", request)
    page.headers["Content-Security-Policy"] = DOCS_POLICY
    return page


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What stands around every page, and what its reader may do."""

    signed_in: bool
    who: str | None = None
    """The name of the key or person; None where nobody signs in."""
    person: bool = False
    may_write: bool = False


def layout_of(connection: HTTPConnection) -> Layout:
    key = getattr(connection.state, "key", None)
    if key is None:
        return Layout(signed_in=False)
    return Layout(
        signed_in=True,
        who=None if key == EVERYBODY else key.name,
        person=key.id.startswith(PERSON),
        may_write=Scope.WRITE in key.scopes,
    )


def render(
    template: str, connection: HTTPConnection, status: int = 200, **shown: Any
) -> HTMLResponse:
    layout = layout_of(connection)
    text = _environment().get_template(template).render(layout=layout, **shown)
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def _environment() -> Environment:
    made = environment(__package__ or "")
    made.globals |= {"asset": address, "FINAL": FINAL}
    made.filters |= {"at": moment, "clock": clock, "roughly": roughly, "selectors": selectors}
    return made
