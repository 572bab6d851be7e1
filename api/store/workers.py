"""The workers: which are there, which take no further job, and what their devices are."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, select, update

from autotune.api.store.database import Database, Now, insert_new, live
from autotune.api.store.tables import IS_HELD, attempts, jobs, workers
from autotune.api.values import WorkerInfo
from autotune.machine import Machine
from autotune.versions import VERSION
from autotune.wire.errors import NotFound
from autotune.wire.jobs import SeenWorker

SEEN_SECONDS = 90.0
"""A worker that was not heard of for so long is gone."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""Time for which a worker that is gone is kept, and the machine of its devices is known."""


def seen(database: Database, info: WorkerInfo) -> None:
    """Note that a worker is there, and forget those that are gone for long."""
    values = {
        **info.model_dump(
            mode="json", include={"devices", "machine", "engine", "labels", "takes_code"}
        ),
        "workloads": dict(sorted((info.workloads or {}).items())),
        "version": VERSION,
        "seen_at": Now(),
    }
    mine = workers.c.name == info.worker
    with database.writing() as connection:
        connection.execute(delete(workers).where(workers.c.seen_at < Now() - KEPT_SECONDS))
        first = {"name": info.worker, "started_at": Now(), "draining": False}
        connection.execute(insert_new(connection, workers, **values, **first))
        connection.execute(update(workers).where(mine).values(values))


def leave(database: Database, info: WorkerInfo) -> None:
    gone = update(workers).where(workers.c.name == info.worker)
    with database.writing() as connection:
        connection.execute(gone.values(seen_at=Now() - 2 * SEEN_SECONDS))


def there(connection: Connection, project: str | None = None) -> tuple[SeenWorker, ...]:
    """Return the workers that are there, by name; jobs of other projects are not named."""
    query = _rows().where(~_gone()).order_by(workers.c.name)
    return tuple(_worker(row, project) for row in connection.execute(query).all())


def drain(database: Database, name: str, *, draining: bool = True) -> SeenWorker:
    """Have a worker take no further job, or take jobs again; the one that it runs goes on."""
    with database.writing() as connection:
        mine = and_(workers.c.name == name, ~_gone())
        if not connection.execute(update(workers).where(mine).values(draining=draining)).rowcount:
            raise NotFound("Worker not found.", "List the workers; it may have ended.")
        return _worker(connection.execute(_rows().where(mine)).one(), None)


def known_machine(database: Database, devices: str) -> Machine | None:
    """Return the machine of some devices, as a worker has last found it."""
    mine = select(workers.c.machine).where(workers.c.devices == devices)
    with database.reading() as connection:
        found = connection.execute(mine.order_by(workers.c.seen_at.desc())).scalars().all()
    return next((Machine.model_validate(each) for each in found if each), None)


def _gone() -> ColumnElement[bool]:
    return workers.c.seen_at < Now() - SEEN_SECONDS


def _rows() -> Select[Any]:
    current = and_(attempts.c.job_id == jobs.c.id, attempts.c.number == jobs.c.attempt)
    held = select(jobs.c.id, jobs.c.project, attempts.c.worker).join(attempts, current)
    runs = held.where(IS_HELD, live(jobs.c.expires_at)).subquery()
    query = select(workers, runs.c.id.label("job"), runs.c.project)
    return query.outerjoin(runs, runs.c.worker == workers.c.name)


def _worker(row: Row[Any], project: str | None) -> SeenWorker:
    found = row._asdict()
    job, whose = found.pop("job"), found.pop("project")
    shown = job if project in (None, whose) else None
    return SeenWorker(**found, busy=job is not None, job=shown)
