"""Templates become pages, and errors; the style sheet, the icon and the scripts are beside them."""

import gzip
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from autotune.api.http.access import EVERYBODY
from autotune.api.http.problems import response_to, route_of
from autotune.api.identity import PERSON, Caller, Scope
from autotune.result.html import SCRIPT, STYLE, environment, part
from autotune.text import clock, roughly
from autotune.wire.errors import KeyRefused, Problem
from autotune.wire.jobs import FINAL, moment

SCRIPTS = {SCRIPT, "page.js", "docs.js"}
KINDS = dict.fromkeys(SCRIPTS, "text/javascript") | {STYLE: "text/css", "icon.svg": "image/svg+xml"}
SWAGGER = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
KEPT = "private, max-age=31536000, immutable"
"""An address holds a digest of the content, so that a browser may keep it."""
# The usual `no-referrer` would have browsers send forms from an origin that they call `null`.
HEADERS = {"Referrer-Policy": "same-origin"}
# The usual policy, and the pictures within Swagger UI's style sheet.
DOCS_POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
HOME, SIGN_IN, SIGN_OUT = "/", "/sign-in", "/sign-out"
SEE_OTHER = 303
_PAGES = re.compile("/(?:sign-in|sign-out|workers)?|/tunings/.*")
# An allow-list: whatever else a link names may lead to another site, or change something.
_NEXT = re.compile(r"/(?:tunings/[0-9a-f]{24}|workers)?(?:\?[\w=&.+%-]{0,500})?", re.ASCII)
router = APIRouter(include_in_schema=False)


@cache
def content(name: str) -> bytes:
    """Return a file; the report has the same style sheet, and the same script to copy."""
    if name in (STYLE, SCRIPT):
        return part(name).encode()
    place = "fastapi_offline" if name in SWAGGER else __package__
    return files(place or "").joinpath("static", name).read_bytes()


_zipped = cache(gzip.compress)


def constant(request: HTTPConnection, made: bytes, media_type: str, keep: str = "") -> Response:
    """Answer with what is the same for everybody: it is compressed once."""
    headers = {"Vary": "Accept-Encoding", **({"Cache-Control": keep} if keep else {})}
    if "gzip" in request.headers.get("accept-encoding", ""):
        made, headers["Content-Encoding"] = _zipped(made), "gzip"
    return Response(made, media_type=media_type, headers=headers)


@cache
def address(name: str) -> str:
    """Return where a file is; another content has another address."""
    mark = hashlib.sha256(content(name)).hexdigest()[:12]
    return f"/page/{name}?v={mark}"


@router.get("/page/{name}")
async def show_file(request: Request, name: str) -> Response:
    """Get a file; the page that asks for a key needs them, too."""
    if name not in KINDS:
        raise HTTPException(404)
    return constant(request, content(name), KINDS[name], KEPT)


@router.get("/docs/files/{name}")
async def show_swagger(request: Request, name: str) -> Response:
    """Get a file of Swagger UI."""
    if name not in SWAGGER:
        raise HTTPException(404)
    return constant(request, content(name), SWAGGER[name])


@router.get("/docs")
async def show_docs(request: Request) -> Response:
    page = render("docs.html", request)
    page.headers["Content-Security-Policy"] = DOCS_POLICY
    return page


def render(
    template: str, connection: HTTPConnection, status: int = 200, **shown: Any
) -> HTMLResponse:
    key: Caller | None = getattr(connection.state, "key", None)
    who = {
        "key": key,
        "person": key is not None and key.id.startswith(PERSON),
        "known": key not in (None, EVERYBODY),
        "may_write": key is not None and Scope.WRITE in key.scopes,
    }
    text = _environment().get_template(template).render(who=who, **shown)
    return HTMLResponse(text, status, headers=HEADERS)


@cache
def _environment() -> Environment:
    made = environment(__package__ or "")
    made.globals |= {"asset": address, "FINAL": FINAL}
    made.filters |= {"at": moment, "clock": clock, "roughly": roughly}
    return made


async def refuse(connection: HTTPConnection, error: Exception) -> Response:
    """Answer an error: people get a page, or are sent to sign in; programs get problem details."""
    plain = response_to(error, route_of(connection.scope))
    if not _PAGES.fullmatch(connection.scope["path"]):
        return plain
    if isinstance(error, KeyRefused):
        url = connection.url
        wanted = safe(f"{url.path}?{url.query}" if url.query else url.path)
        query = "" if wanted == HOME else f"?{urlencode({'next': wanted})}"
        return RedirectResponse(f"{SIGN_IN}{query}", SEE_OTHER)
    problem = Problem.model_validate_json(bytes(plain.body))
    return render("problem.html", connection, plain.status_code, problem=problem)


def safe(wanted: str) -> str:
    """Return an address within the pages: the one that is wanted, or the first page's."""
    return wanted if _NEXT.fullmatch(wanted) else HOME
