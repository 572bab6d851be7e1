"""Where the pages are, and where to go after signing in."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from starlette.requests import HTTPConnection

HOME = "/"
WORKERS = "/workers"
COMPARE = "/compare"
SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"
_JOBS = "/tunings/"
# An allow-list: whatever else a link names may lead to another site, or change something.
_PAGE = re.compile(r"/(?:tunings/[0-9a-f]{24}|workers|compare)?(?:\?[\w=&.+%-]{0,500})?", re.ASCII)


def job_page(job_id: str) -> str:
    """Return the address of a job's page."""
    return f"{_JOBS}{job_id}"


def repeat_page(job_id: str) -> str:
    """Return where a job is asked for again."""
    return f"{job_page(job_id)}/repeat"


def is_page(path: str) -> bool:
    """Return whether people look at an address, and programs do not."""
    return path in (HOME, WORKERS, COMPARE, SIGN_OUT) or path.startswith(_JOBS)


def safe(wanted: str) -> str:
    """Return an address within the pages: the one that is wanted, or the first page's."""
    return wanted if _PAGE.fullmatch(wanted) else HOME


def sign_in_page(connection: HTTPConnection) -> str:
    """Return the address at which to sign in and come back to what was asked for."""
    url = connection.url
    wanted = safe(f"{url.path}?{url.query}" if url.query else url.path)
    return SIGN_IN if wanted == HOME else f"{SIGN_IN}?{urlencode({'next': wanted})}"
