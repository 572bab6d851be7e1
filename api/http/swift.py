"""Answers that are made in one go.

Left to itself the framework goes to a thread for the query, for the route, and once more to check
the answer, although that is a model of ours already; on a reading call this takes longer than
everything else.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from autotune.value import Value

MEDIA_TYPE = "application/json"


async def swiftly(make: Callable[[], Value]) -> Response:
    """Return what a function makes in a thread, as JSON."""
    return await run_in_threadpool(_response, make)


def _response(make: Callable[[], Value]) -> Response:
    made = make()
    return Response(made.__pydantic_serializer__.to_json(made), media_type=MEDIA_TYPE)
