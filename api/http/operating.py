"""What may be asked for here; and for operators: is it there, is it ready, what does it do."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from autotune.api.http import examples, metrics
from autotune.api.http.access import Manager, Reader
from autotune.api.http.answers import (
    HealthAnswer,
    MachineAnswer,
    SpacesAnswer,
    WorkersAnswer,
    WorkloadAnswer,
    WorkloadsAnswer,
)
from autotune.api.http.examples import json_answer, text_answer
from autotune.api.http.problems import CHANGING, CLOSED, documented
from autotune.api.http.service import Here, TheJobs
from autotune.api.http.tunings import swiftly
from autotune.api.store import workers
from autotune.api.values import SeenWorker
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
    "/v1/workers",
    summary="List the workers",
    response_model=WorkersAnswer,
    responses={200: json_answer(examples.WORKERS, "By name."), **documented(*CLOSED)},
)
async def listed_workers(key: Reader, jobs: TheJobs) -> Response:
    """List the workers that are there, with what they have, and what each of them does."""
    return await swiftly(lambda: WorkersAnswer(workers=jobs.workers(key.project)))


WorkerName = Annotated[
    str,
    Path(
        description="A worker's name.",
        pattern="^[A-Za-z0-9._-]{1,200}$",
        examples=[examples.WORKER["name"]],
    ),
]
_OF_WORKER = {
    200: json_answer(examples.DRAINING, "The worker."),
    **documented(*CHANGING, "not-found", "invalid-request", "body-too-large"),
}


@router.post("/v1/workers/{name}/drain", summary="Drain a worker", responses=_OF_WORKER)
def drain(name: WorkerName, here: Here, _: Manager) -> SeenWorker:
    """Have a worker end the job that it runs and take no other; it can be stopped then."""
    return workers.drain(here.database, name)


@router.post("/v1/workers/{name}/resume", summary="Resume a worker", responses=_OF_WORKER)
def resume(name: WorkerName, here: Here, _: Manager) -> SeenWorker:
    """Have a worker that is drained take jobs again."""
    return workers.drain(here.database, name, draining=False)


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
    """Check that the database responds, has the schema of this version, and takes changes."""
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
def read_metrics(here: Here, _: Reader) -> Response:
    """Get request counts and latencies of this process, and jobs by state."""
    return Response(here.metrics.text(here.jobs), media_type=metrics.MEDIA_TYPE)
