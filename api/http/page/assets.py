"""The style sheet, the icon and the script, as they stand in the package."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from autotune.api.http.access import Reader
from autotune.report.html.rendering import SCRIPT, STYLE, part

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
