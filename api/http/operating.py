"""The registered workloads, and for operators workers, health, readiness and metrics."""

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import Response

from autotune.api.http.access import Reader
from autotune.api.http.service import MEDIA_TYPE, Here
from autotune.api.http.tunings import text_answer
from autotune.base import Described
from autotune.wire.jobs import WorkersAnswer

router = APIRouter(tags=["operating"])


class WorkloadAnswer(Described):
    """A workload that may be asked for."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """A JSON Schema of `params`."""


class WorkloadsAnswer(Described):
    """All workloads by name."""

    workloads: tuple[WorkloadAnswer, ...]


class HealthAnswer(Described):
    """The state of the service in a word."""

    status: str


@router.get("/v1/workloads")
async def list_workloads(here: Here, _: Reader) -> WorkloadsAnswer:
    """List the registered workloads and their parameters."""
    answers = (
        WorkloadAnswer(
            name=name,
            description=workload.description,
            parameters=workload.parameters.model_json_schema(),
        )
        for name, workload in sorted(here.registry.items())
    )
    return WorkloadsAnswer(workloads=tuple(answers))


@router.get("/v1/workers")
def list_workers(key: Reader, here: Here) -> WorkersAnswer:
    """List the workers that are there, with what they have, and what each of them does."""
    return WorkersAnswer(workers=here.jobs.workers(key.project))


@router.get("/healthz")
async def get_liveness() -> HealthAnswer:
    """Check that the process is alive, whatever the state of the database."""
    return HealthAnswer(status="alive")


@router.get("/readyz")
def get_readiness(here: Here) -> HealthAnswer:
    """Check that the database responds, has the schema of this version, and takes changes."""
    here.jobs.check()
    return HealthAnswer(status="ready")


@router.get("/metrics", response_class=Response, responses=text_answer("text/plain"))
def get_metrics(here: Here, _: Reader) -> Response:
    """Get request counts and latencies of this process, and jobs by state, for Prometheus."""
    return Response(here.metrics.text(), media_type=MEDIA_TYPE)
