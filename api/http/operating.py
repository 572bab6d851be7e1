"""What may be asked for here; and for operators: is it there, is it ready, what does it do."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from autotune.api.http import examples, metrics
from autotune.api.http.access import Reader, Watcher
from autotune.api.http.answers import (
    HealthAnswer,
    MachineAnswer,
    SpacesAnswer,
    WorkloadAnswer,
    WorkloadsAnswer,
)
from autotune.api.http.examples import json_answer, text_answer
from autotune.api.http.problems import CLOSED, documented
from autotune.api.http.service import Here, TheJobs
from autotune.space import ready_made

router = APIRouter(tags=["operating"])


@router.get(
    "/v1/workloads",
    summary="List the workloads",
    responses={200: json_answer(examples.WORKLOADS, "By name."), **documented(*CLOSED)},
)
async def workloads(here: Here, _: Reader) -> WorkloadsAnswer:
    """List the registered workloads and their parameters."""
    found = sorted(here.catalog.workloads.items())
    return WorkloadsAnswer(workloads=tuple(WorkloadAnswer.of(*each) for each in found))


@router.get(
    "/v1/spaces",
    summary="List the search spaces",
    responses={
        200: json_answer(examples.SPACES, "The built-in search spaces."),
        **documented(*CLOSED, "machine-unknown"),
    },
)
def spaces(here: Here, _: Reader) -> SpacesAnswer:
    """List the built-in search spaces, and which one `auto` uses on this machine."""
    catalog = here.catalog
    return SpacesAnswer(auto=catalog.space().name, spaces=tuple(ready_made().values()))


@router.get(
    "/v1/machine",
    summary="Get the machine",
    responses={
        200: json_answer(examples.MACHINE, "Its devices, memory and software."),
        **documented(*CLOSED, "machine-unknown"),
    },
)
def machine(here: Here, _: Reader) -> MachineAnswer:
    """Get the machine that jobs run on."""
    return MachineAnswer(devices=here.catalog.devices, machine=here.catalog.machine())


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
        200: text_answer({"text/plain": "metrics"}, "In the Prometheus text format."),
        **documented(*CLOSED),
    },
)
def read_metrics(here: Here, _: Watcher) -> Response:
    """Get request counts and latencies of this process, and jobs by state."""
    return Response(here.metrics.text(here.jobs), media_type=metrics.MEDIA_TYPE)
