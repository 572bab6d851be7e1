"""What one project may have: jobs in the queue, and seconds on the devices."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from autotune.api.errors import QuotaExceeded
from autotune.api.settings import Quotas
from autotune.api.states import UNFINISHED, State
from autotune.api.store.database import Now
from autotune.api.store.reading import total_of
from autotune.api.store.tables import attempts, jobs
from autotune.text import plural


def check_quotas(connection: Connection, project: str, quotas: Quotas, wanted: float) -> None:
    """Refuse a job of so many seconds if its project would have more than it may."""
    mine = jobs.c.project == project
    waits = select(func.count()).where(mine, jobs.c.state == State.QUEUED)
    if connection.execute(waits).scalar_one() >= quotas.queued:
        raise QuotaExceeded(
            f"This project may have at most {plural(quotas.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    # As a value: PostgreSQL plans for it, and scans all attempts for one that it does not know.
    since = connection.execute(select(Now() - quotas.window_seconds)).scalar_one()
    ended = jobs.join(attempts, jobs.c.id == attempts.c.job_id)
    used = select(total_of()).select_from(ended).where(mine, jobs.c.ended_at > since)
    asked = select(func.coalesce(func.sum(jobs.c.budget_seconds), 0.0))
    asked = asked.where(mine, jobs.c.state.in_(UNFINISHED))
    taken = connection.execute(used).scalar_one() + connection.execute(asked).scalar_one()
    if taken + wanted > quotas.device_seconds:
        raise QuotaExceeded(
            f"This project may use the devices for {quotas.device_seconds:.0f} s within "
            f"{quotas.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )
