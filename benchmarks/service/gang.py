"""The processes of a job's attempts, as the system shows them."""

from __future__ import annotations

import psutil
from sqlalchemy import select

from autotune.api.store.database import Database
from autotune.api.store.tables import attempts
from autotune.api.work import processes


def gang(database: Database, job_id: str) -> set[psutil.Process]:
    """Return all processes that live of a job: its search, and whatever that started."""
    query = select(attempts.c.marker).where(attempts.c.job_id == job_id)
    with database.reading() as connection:
        markers = connection.execute(query).scalars().all()
    return {each for marker in markers for each in processes.marked(marker)}
