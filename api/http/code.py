"""Uploading code: an archive by its digest, checked before anything of it is kept."""

import hashlib
import tempfile
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from autotune.api import archives
from autotune.api.http.access import Uploader
from autotune.api.http.service import Here, Service
from autotune.api.log import note
from autotune.api.store import code
from autotune.wire.errors import BadArchive
from autotune.wire.jobs import CodeAnswer

router = APIRouter(tags=["code"])
Digest = Annotated[
    str,
    Path(
        pattern="^[0-9a-f]{64}$",
        description="SHA-256 of the archive's bytes, in lower-case hexadecimal.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ),
]
_KINDS = ("application/gzip", "application/x-tar", "application/zip", "application/octet-stream")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {each: {"schema": {"type": "string", "format": "binary"}} for each in _KINDS},
    }
}


@router.put(
    "/v1/code/{digest}",
    openapi_extra=_BODY,
    responses={201: {"model": CodeAnswer, "description": "It is new."}},
)
async def upload_code(
    digest: Digest, request: Request, response: Response, key: Uploader, here: Here
) -> CodeAnswer:
    """Upload a folder as a tar, gzipped or not, or a zip; a job names it by its digest.

    Equal code needs to be sent once. Links are refused.
    """
    with tempfile.NamedTemporaryFile(dir=here.settings.data, prefix=".upload-") as file:
        found = hashlib.sha256()
        try:
            async for chunk in request.stream():
                found.update(chunk)
                await run_in_threadpool(file.write, chunk)
        except ClientDisconnect as exc:
            raise BadArchive("The archive came to an end too soon.", "Send it again.") from exc
        if found.hexdigest() != digest:
            raise BadArchive(
                f"The digest of what came is {found.hexdigest()}.",
                "Send the archive whole, to the address of its own digest.",
            )
        file.flush()
        is_new = await run_in_threadpool(_keep, here, key.project, digest, File(file.name))
        response.status_code = 201 if is_new else 200
        return await run_in_threadpool(code.about, here.database, key.project, digest)


@router.get("/v1/code/{digest}")
def get_code(digest: Digest, key: Uploader, here: Here) -> CodeAnswer:
    """Tell what is kept of uploaded code, and so whether it need not be sent again."""
    return code.about(here.database, key.project, digest)


def _keep(here: Service, project: str, digest: str, archive: File) -> bool:
    settings = here.settings
    held, most = archives.read(archive, settings.code.limits), settings.quotas.code
    is_new = code.keep(here.database, project, digest, archive.read_bytes(), held, most)
    if is_new:
        note("upload code", digest[:12], project=project)
    return is_new
