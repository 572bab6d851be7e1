"""The answer to an error: problem details (RFC 9457), by one table.

The cause of the service's own faults goes to the log.
"""

import errno
import logging
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from asgi_correlation_id import correlation_id
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from autotune.api.log import log
from autotune.errors import in_words
from autotune.wire.errors import DiskFull, Mistake, Problem, ServiceError, causes

HANDLED = (ServiceError, RequestValidationError, HTTPException)
"""Errors that the framework hands to a handler; the envelope answers all others."""
MEDIA_TYPE = "application/problem+json"
MOST_MISTAKES = 20
_HIDDEN = (
    (re.compile(r"\S+://\S+"), "(address)"),
    (re.compile(r"(?<![\w)])/\S+"), "(path)"),
    (re.compile(r"autotune_[\w-]{20,}"), "(key)"),
)
"""Parts of an error's text that belong in no log."""
STATUSES: Mapping[str, int] = {
    kind: status
    for status, kinds in {
        400: ("malformed-body",),
        401: ("key-missing", "key-refused"),
        403: ("scope-missing", "cross-origin"),
        404: ("not-found",),
        409: ("illegal-transition", "no-recommendation", "superseded"),
        413: ("code-too-large",),
        422: (
            *("invalid-request", "invalid-tuning", "invalid-parameter", "invalid-space"),
            *("invalid-budget", "invalid-option", "unknown-workload", "space-not-runnable"),
            *("idempotency-mismatch", "unknown-code", "bad-archive"),
        ),
        429: ("quota-exceeded", "too-many-streams"),
        500: ("internal-error", "service-error", "unreadable-record"),
        503: ("database-unavailable", "other-schema", "disk-full"),
    }.items()
    for kind in kinds
}
"""The status of each kind; an error of the framework's has one of its own."""
RETRY_AFTER: Mapping[str, int] = {
    "quota-exceeded": 60,
    "too-many-streams": 10,
    "database-unavailable": 5,
    "other-schema": 60,
    "disk-full": 60,
}
"""Seconds after which an error may be over."""
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    each: {
        "description": f"{text}; its `code` says which.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for each, text in (("4XX", "The request was refused"), ("5XX", "The service cannot do it now"))
}


def problem(
    kind: str,
    detail: str,
    next_step: str = "",
    *,
    status: int | None = None,
    errors: Iterable[Mistake] = (),
) -> Problem:
    request = correlation_id.get()
    return Problem(
        type=f"urn:autotune:problem:{kind}",
        title=kind.replace("-", " ").capitalize(),
        status=status or STATUSES[kind],
        code=kind,
        detail=detail,
        next_step=next_step,
        instance=request and f"urn:autotune:request:{request}",
        errors=tuple(errors),
    )


def response_to(error: Exception, route: str = "none") -> Response:
    """Return the response for any error.

    It shows nothing of the service's inside; the cause of a fault of its own goes to the log.
    """
    what = _problem_of(error)
    if what.status >= 500:
        _note(error, what, route)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if what.code in RETRY_AFTER:
        headers["Retry-After"] = str(RETRY_AFTER[what.code])
    if what.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    content = what.model_dump(mode="json", exclude_defaults=True)
    return JSONResponse(content, what.status, headers=headers, media_type=MEDIA_TYPE)


def route_of(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", None) or "none"


def _problem_of(error: Exception) -> Problem:
    match error:
        case ServiceError():
            return problem(error.kind, error.cause, error.next_step)
        case RequestValidationError():
            return _unfit(error)
        case HTTPException(status_code=400, detail=detail) if "body" in str(detail):
            return problem(*_MALFORMED)
        case HTTPException(status_code=status):
            return problem(*_OF_STATUS.get(status, _OTHER), status=status)
        case OSError(errno=errno.ENOSPC):
            return problem(DiskFull.kind, "The disk is full.", "Contact the operator.")
    return problem(
        "internal-error",
        "The service failed with an internal error.",
        "Try again; if it recurs, tell the operator the id of this request.",
    )


def _unfit(error: RequestValidationError) -> Problem:
    found = error.errors()
    if found and found[0]["type"] == "json_invalid":
        return problem("malformed-body", "The body is not valid JSON.", "Fix it and try again.")
    mistakes = []
    for each in found[:MOST_MISTAKES]:
        place = _printable(".".join(map(str, each["loc"])))[:100]
        mistakes.append(Mistake(location=place, message=_printable(each["msg"])))
    first = mistakes[0]
    return problem(
        "invalid-request",
        f"{first.location}: {first.message.rstrip('.')}.",
        "See the schema of this request in /openapi.json.",
        errors=mistakes,
    )


_MALFORMED = ("malformed-body", "The body cannot be read.", "Send JSON in UTF-8.")
_OTHER = ("http-error", "The request was refused.", "")
_OF_STATUS: Mapping[int, tuple[str, str, str]] = {
    400: (
        "bad-request",
        "The request is malformed, or its Host header is not allowed.",
        "Use a host name that the operator has listed in web.hosts.",
    ),
    404: ("no-such-route", "There is no route at this URL.", "See /openapi.json."),
    405: (
        "method-not-allowed",
        "This route does not support this method.",
        "The Allow header lists those it supports.",
    ),
    413: (
        "body-too-large",
        "The body is larger than this service accepts.",
        "Send a smaller body.",
    ),
    415: (
        "unsupported-media-type",
        "The body must be JSON.",
        "Send it with Content-Type: application/json, not compressed.",
    ),
}
"""Errors that the framework raises by itself: their kind, and what to say of them."""


def _printable(text: str) -> str:
    # A lone surrogate may come out of JSON, and cannot go into UTF-8.
    return text.encode("utf-8", "replace").decode().removeprefix("Value error, ")


def _note(error: Exception, what: Problem, route: str) -> None:
    """Log the cause of an error of the service's own, which its answer does not show."""
    *_, root = causes(error)
    steps = [
        f"{frame.f_globals['__name__']}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).startswith("autotune.")
    ]
    where = None if isinstance(error, ServiceError) else (steps or ["none"])[-1]
    log(
        "A request failed.",
        logging.ERROR if what.status == 500 else logging.WARNING,
        kind=what.code,
        route=route,
        error=type(root).__name__,
        text=_text(root),
        where=where,
    )


def _text(error: BaseException) -> str:
    """Return the first line of an error; what a database adds to it may hold values."""
    first = (in_words(error).splitlines() or [""])[0]
    for what, instead in _HIDDEN:
        first = what.sub(instead, first)
    return first[:300]
