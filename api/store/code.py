"""The uploaded code of projects: each archive once, by its digest; no project sees another's."""

from typing import Any

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, select, update

from autotune.api.store.database import Database, Now, lock
from autotune.api.store.tables import code, jobs
from autotune.text import size
from autotune.wire.errors import NotFound, QuotaExceeded, UnknownCode
from autotune.wire.jobs import UNFINISHED, CodeAnswer

_SHOWN = (code.c.digest, code.c.bytes, code.c.files, code.c.unpacked, code.c.created_at)


def keep(
    database: Database, project: str, digest: str, archive: bytes, held: tuple[int, int], most: int
) -> bool:
    """Keep an archive that holds so many files and bytes; return whether it is new.

    A project may keep at most `most` bytes of archives.
    """
    files, unpacked = held
    row = {"project": project, "digest": digest, "archive": archive, "bytes": len(archive)}
    row |= {"files": files, "unpacked": unpacked, "created_at": Now(), "used_at": Now()}
    with database.writing() as connection:
        lock(connection, f"code {project}")
        if touch(connection, project, digest):
            return False
        stored = select(func.coalesce(func.sum(code.c.bytes), 0)).where(code.c.project == project)
        if connection.execute(stored).scalar_one() + len(archive) > most:
            raise QuotaExceeded(
                f"This project may keep {size(most)} of code, and has no room for this archive.",
                "Ask the operator, who removes what no job has used.",
            )
        connection.execute(insert(code).values(**row))
    return True


def touch(connection: Connection, project: str, digest: str) -> bool:
    """Note that an archive is used now; return whether the project has it."""
    mine = _mine(project, digest)
    return bool(connection.execute(update(code).where(mine).values(used_at=Now())).rowcount)


def about(database: Database, project: str, digest: str) -> CodeAnswer:
    row = _row(database, project, digest, *_SHOWN)
    if row is None:
        raise NotFound("This project has no such code.", "Upload it by PUT to this address.")
    return CodeAnswer.model_validate(row._asdict())


def archive(database: Database, project: str, digest: str) -> bytes:
    row = _row(database, project, digest, code.c.archive)
    if row is None:
        raise unknown(digest)
    found: bytes = row.archive
    return found


def remove_unused(database: Database, older_seconds: float) -> int:
    """Remove what was not used for so long, and no unfinished job needs; return how many."""
    needed = exists().where(
        jobs.c.project == code.c.project,
        jobs.c.digest == code.c.digest,
        jobs.c.state.in_(UNFINISHED),
    )
    old = and_(code.c.used_at < Now() - older_seconds, ~needed)
    with database.writing() as connection:
        return connection.execute(delete(code).where(old)).rowcount


def unknown(digest: str) -> UnknownCode:
    return UnknownCode(
        f"This project has no code {digest[:12]}….", "Upload it by PUT /v1/code/{sha256}."
    )


def _row(database: Database, project: str, digest: str, *columns: Any) -> Row[Any] | None:
    with database.reading() as connection:
        return connection.execute(select(*columns).where(_mine(project, digest))).first()


def _mine(project: str, digest: str) -> Any:
    return and_(code.c.project == project, code.c.digest == digest)
