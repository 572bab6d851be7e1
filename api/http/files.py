"""The parts of a recommendation, each alone as a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from autotune.api.errors import NotFound
from autotune.api.http.access import Reader
from autotune.api.http.examples import text_answer
from autotune.api.http.problems import documented
from autotune.api.http.service import TheJobs
from autotune.api.http.tunings import DIGITS, FOR_ONE, JobId
from autotune.program.cluster import JOBSET, RAY, SLURM
from autotune.result import Result
from autotune.result.html import page, policy
from autotune.result.saved import configuration_text
from autotune.value import Value

router = APIRouter(tags=["files"])


class Part(StrEnum):
    """Which of the programs."""

    TRAIN = "train"
    """It trains."""
    LAUNCH = "launch"
    """It starts the processes of a gang on one machine."""
    SLURM = "slurm"
    """It starts them on several machines, under Slurm."""
    JOBSET = "jobset"
    """It starts them on several machines, as a JobSet of Kubernetes."""
    RAY = "ray"
    """It starts them on several machines, on a Ray cluster."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return _FILES[self][0]

    @property
    def media_type(self) -> str:
        """What the file is."""
        return _FILES[self][1]


_FILES: Final = {
    Part.TRAIN: ("train.py", "text/x-python"),
    Part.LAUNCH: ("launch.py", "text/x-python"),
    Part.SLURM: (SLURM, "text/x-shellscript"),
    Part.JOBSET: (JOBSET, "application/yaml"),
    Part.RAY: (RAY, "text/x-python"),
}


class Format(StrEnum):
    """How a configuration is written."""

    YAML = "yaml"
    JSON = "json"
    TOML = "toml"


class ConfigQuery(Value):
    """How to write the configuration."""

    format: Format = Format.YAML


class ScriptQuery(Value):
    """Which program to get."""

    part: Part = Part.TRAIN


TrialNumber = Annotated[
    int, Field(ge=0, lt=2**31), DIGITS, Path(description="A trial's number.", examples=[0])
]
_PROBLEMS = documented(*FOR_ONE, "no-recommendation")
_CONFIG = text_answer({"application/yaml": "config"})
_CONFIG["content"]["application/yaml"]["schema"] = {}
_CONFIG["content"] |= {f"application/{each}": {"schema": {}} for each in (Format.JSON, Format.TOML)}
_OF_A_PAGE = {
    # Without `inline` it could be looked at only after a download.
    "Content-Disposition": 'inline; filename="report.html"',
    # The page may do what it brings along, and has nothing to do with this service otherwise.
    "Content-Security-Policy": f"sandbox allow-scripts; frame-ancestors 'none'; {policy()}",
    # A browser shows nothing that is in a sandbox and wants to be isolated as well.
    "Cross-Origin-Opener-Policy": "unsafe-none",
}
_SCRIPT = text_answer(
    {
        Part.TRAIN.media_type: "script",
        Part.SLURM.media_type: "slurm",
        Part.JOBSET.media_type: "jobset",
    }
)


@router.get(
    "/v1/tunings/{job_id}/config",
    summary="Get the configuration as a file",
    response_class=Response,
    responses={200: _CONFIG, **_PROBLEMS},
)
def config(
    job_id: JobId, query: Annotated[ConfigQuery, Query()], key: Reader, jobs: TheJobs
) -> Response:
    """Get config.yaml, for `autotune script` and `autotune verify`."""
    result = jobs.recommendation(job_id, key.owner)
    text = configuration_text(result.saved(), f".{query.format}")
    return _file(f"config.{query.format}", text, f"application/{query.format}")


@router.get(
    "/v1/tunings/{job_id}/script",
    summary="Get the program as a file",
    response_class=Response,
    responses={200: _SCRIPT, **_PROBLEMS},
)
def script(
    job_id: JobId, query: Annotated[ScriptQuery, Query()], key: Reader, jobs: TheJobs
) -> Response:
    """Get train.py, exactly as timed, or a file that starts all its workers."""
    text = _program(jobs.recommendation(job_id, key.owner), query.part)
    return _file(query.part.file, text, query.part.media_type)


@router.get(
    "/v1/tunings/{job_id}/report",
    summary="Get the report as a file",
    response_class=Response,
    responses={200: text_answer({"text/html": "page"}), **_PROBLEMS},
)
def report(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Get report.html, a page in one file, which loads nothing."""
    result = jobs.recommendation(job_id, key.owner)
    return Response(page(result), media_type="text/html", headers=_OF_A_PAGE)


@router.get(
    "/v1/tunings/{job_id}/trials/{number}/output",
    summary="Get the output of a trial",
    response_class=Response,
    responses={200: text_answer({"text/plain": "output"}), **documented(*FOR_ONE)},
)
def output(job_id: JobId, number: TrialNumber, key: Reader, jobs: TheJobs) -> Response:
    """Get what a failed trial printed last, its traceback among it; empty if nothing is kept."""
    found = jobs.trial(job_id, key.owner, number)
    return Response(found.detail, media_type="text/plain")


def _program(result: Result, part: Part) -> str:
    found = result.programs()[part.file]
    if found is None:
        raise NotFound(
            "This program runs in one process and needs no launcher.", "Run train.py directly."
        )
    return found


def _file(name: str, text: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{name}"'
    return Response(text, media_type=media_type, headers={"Content-Disposition": disposition})
