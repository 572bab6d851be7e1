"""For operators: is it there, is it ready, and what does it do?"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from autotune.api.http import examples, metrics
from autotune.api.http.access import Admin
from autotune.api.http.answers import HealthAnswer
from autotune.api.http.examples import json_answer, text_answer
from autotune.api.http.problems import CLOSED, documented
from autotune.api.http.service import Here, TheJobs

router = APIRouter(tags=["operating"])


@router.get(
    "/healthz",
    summary="Liveness",
    responses={200: json_answer({"status": "alive"}, "It is."), **documented()},
)
async def healthz() -> HealthAnswer:
    """Check that the process is alive, whatever the state of the database."""
    return HealthAnswer(status="alive")


@router.get(
    "/readyz",
    summary="Readiness",
    responses={200: json_answer({"status": "ready"}, "It can."), **documented()},
)
def readyz(jobs: TheJobs) -> HealthAnswer:
    """Check that the database responds and has the schema of this version."""
    jobs.check()
    return HealthAnswer(status="ready")


@router.get(
    "/metrics",
    summary="Get the metrics",
    response_class=Response,
    responses={
        200: text_answer({"text/plain": examples.METRICS}, "In the Prometheus text format."),
        **documented(*CLOSED),
    },
)
def read_metrics(here: Here, _: Admin) -> Response:
    """Get request counts and latencies of this process, and jobs by state."""
    return Response(here.metrics.text(here.jobs), media_type=metrics.MEDIA_TYPE)
