"""The parts of a recommendation, each alone as a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from autotune.api.errors import NotFound
from autotune.api.http import examples
from autotune.api.http.access import Reader
from autotune.api.http.examples import text_answer
from autotune.api.http.problems import documented
from autotune.api.http.service import TheJobs
from autotune.api.http.tunings import FOR_ONE, JobId
from autotune.recommendation import Recommendation
from autotune.recommendation.saved import configuration_text
from autotune.report.markdown import result_markdown
from autotune.value import Value

router = APIRouter(tags=["files"])


class Format(StrEnum):
    """How a configuration is written."""

    YAML = "yaml"
    JSON = "json"
    TOML = "toml"


class Program(StrEnum):
    """Which of the programs."""

    TRAIN = "train"
    """It trains."""
    LAUNCH = "launch"
    """Starts all workers on one machine."""


class ConfigQuery(Value):
    """How to write the configuration."""

    format: Format = Format.YAML


class ScriptQuery(Value):
    """Which program to get."""

    part: Program = Program.TRAIN


_PROBLEMS = documented(*FOR_ONE, "no-recommendation")
_CONFIG = text_answer("application/yaml", examples.CONFIG, "The file.")
_CONFIG["content"]["application/yaml"]["schema"] = {}
_CONFIG["content"] |= {f"application/{each}": {"schema": {}} for each in (Format.JSON, Format.TOML)}


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
    responses={200: text_answer("text/x-python", examples.SCRIPT, "The file."), **_PROBLEMS},
)
def script(
    job_id: JobId, query: Annotated[ScriptQuery, Query()], key: Reader, jobs: TheJobs
) -> Response:
    """Get train.py, exactly as timed, or launch.py, which starts all workers."""
    text = _program(jobs.recommendation(job_id, key.owner), query.part)
    return _file(f"{query.part}.py", text, "text/x-python")


@router.get(
    "/v1/tunings/{job_id}/report",
    summary="Get the report as a file",
    response_class=Response,
    responses={200: text_answer("text/markdown", examples.REPORT, "The file."), **_PROBLEMS},
)
def report(job_id: JobId, key: Reader, jobs: TheJobs) -> Response:
    """Get the verdict, the reasons and all configurations as Markdown."""
    text = result_markdown(jobs.recommendation(job_id, key.owner))
    return _file("report.md", text, "text/markdown")


def _program(result: Recommendation, part: Program) -> str:
    if part is Program.TRAIN:
        return result.script
    if result.launch is None:
        raise NotFound(
            "This program runs in one process and needs no launcher.", "Run train.py directly."
        )
    return result.launch


def _file(name: str, text: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{name}"'
    return Response(text, media_type=media_type, headers={"Content-Disposition": disposition})
