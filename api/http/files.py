"""A result, and the parts of its recommendation, each alone as a file."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from autotune.api.http.access import Reader
from autotune.api.http.service import Here
from autotune.api.http.tunings import JobId
from autotune.api.requests import DIGITS
from autotune.library import NAMES
from autotune.program.cluster import JOBSET, RAY, SLURM
from autotune.result import Result
from autotune.result.html import page, policy
from autotune.result.saved import configuration_text
from autotune.wire.errors import NotFound

router = APIRouter(tags=["files"])


YAML = "application/yaml"
FILES = {
    "train": ("train.py", "text/x-python"),
    "patch": ("train.patch", "text/x-diff"),
    "launch": ("launch.py", "text/x-python"),
    "slurm": (SLURM, "text/x-shellscript"),
    "jobset": (JOBSET, YAML),
    "ray": (RAY, "text/x-python"),
    # What train.py imports, where it does.
    **{name: (f"{name}.py", "text/x-python") for name in sorted(NAMES)},
}
"""The programs that may be asked for: name and media type of each."""
Part = Annotated[str, Query(pattern=f"^({'|'.join(FILES)})$", description="Which of the programs.")]
TrialNumber = Annotated[
    int, Field(ge=0, lt=2**31), DIGITS, Path(description="A trial's number.", examples=[0])
]
_OF_A_PAGE = {
    # Without `inline` it could be opened only after a download.
    "Content-Disposition": 'inline; filename="report.html"',
    # The page may do what it brings along, and has nothing to do with this service otherwise.
    "Content-Security-Policy": f"sandbox allow-scripts; frame-ancestors 'none'; {policy()}",
    # A browser shows nothing that is in a sandbox and wants to be isolated as well.
    "Cross-Origin-Opener-Policy": "unsafe-none",
}


def text_answer(*media_types: str) -> dict[int | str, dict[str, Any]]:
    # YAML is read before its schema is looked at.
    kinds = {each: "object" if each == YAML else "string" for each in media_types}
    return {200: {"content": {each: {"schema": {"type": kind}} for each, kind in kinds.items()}}}


@router.get("/v1/tunings/{job_id}/result")
def get_result(job_id: JobId, key: Reader, here: Here) -> Result:
    """Get everything that the search has found, from which its files can be written."""
    return here.jobs.recommendation(job_id, key.project)


@router.get("/v1/tunings/{job_id}/config", response_class=Response, responses=text_answer(YAML))
def get_config(job_id: JobId, key: Reader, here: Here) -> Response:
    """Get config.yaml: what was decided; `result` is its result.json."""
    result = here.jobs.recommendation(job_id, key.project)
    return _file("config.yaml", configuration_text(result), YAML)


@router.get(
    "/v1/tunings/{job_id}/script",
    response_class=Response,
    responses=text_answer(*dict.fromkeys(kind for _, kind in FILES.values())),
)
def get_script(job_id: JobId, key: Reader, here: Here, part: Part = "train") -> Response:
    """Get train.py, exactly as timed, a module or patch of it, or what starts all its workers."""
    name, media_type = FILES[part]
    found = here.jobs.recommendation(job_id, key.project).programs().get(name)
    if found is None:
        raise NotFound("This program needs no such file.", "Run train.py directly.")
    return _file(name, found, media_type)


@router.get(
    "/v1/tunings/{job_id}/report", response_class=Response, responses=text_answer("text/html")
)
def get_report(job_id: JobId, key: Reader, here: Here) -> Response:
    """Get report.html, a page in one file, which loads nothing."""
    result = here.jobs.recommendation(job_id, key.project)
    return Response(page(result), media_type="text/html", headers=_OF_A_PAGE)


@router.get(
    "/v1/tunings/{job_id}/trials/{number}/output",
    response_class=Response,
    responses=text_answer("text/plain"),
)
def get_output(job_id: JobId, number: TrialNumber, key: Reader, here: Here) -> Response:
    """Get what a failed trial printed last, its traceback among it; empty if nothing is kept."""
    found = here.jobs.trial(job_id, key.project, number)
    return Response(found.detail, media_type="text/plain")


def _file(name: str, text: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{name}"'
    return Response(text, media_type=media_type, headers={"Content-Disposition": disposition})
