"""What one project may have: jobs in the queue, and seconds on the devices.

The statements are made once: making one takes longer than the database takes to answer it.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Float, Select, and_, bindparam, func, select

from autotune.api.errors import QuotaExceeded
from autotune.api.settings import Quotas
from autotune.api.states import HELD, State
from autotune.api.store.database import Now
from autotune.api.store.reading import total_of
from autotune.api.store.tables import attempts, jobs
from autotune.wording import plural

_OWNED = jobs.c.project == bindparam("project")
_WAITS = and_(_OWNED, jobs.c.state == State.QUEUED)
_ENDED = jobs.join(attempts, jobs.c.id == attempts.c.job_id)


def _or_nothing(query: Select[float]) -> ColumnElement[float]:
    return func.coalesce(query.scalar_subquery(), 0.0)


_USED = select(total_of()).select_from(_ENDED).where(_OWNED, jobs.c.ended_at > bindparam("since"))
_HELD = select(func.sum(jobs.c.budget_seconds)).where(_OWNED, jobs.c.state.in_(HELD))
_LONGEST = select(func.max(jobs.c.budget_seconds)).where(_WAITS)
_WAITING = select(func.sum(jobs.c.budget_seconds)).where(_WAITS)
# As a value: PostgreSQL plans for it, and walks all attempts for one that it does not know.
_SINCE = select(Now() - bindparam("window", type_=Float()))
_STANDING = select(
    select(func.count()).where(_WAITS).scalar_subquery().label("queued"),
    _or_nothing(_LONGEST).label("longest"),
    (_or_nothing(_USED) + _or_nothing(_HELD)).label("taken"),
)


def check_quotas(connection: Connection, project: str, quotas: Quotas, wanted: float) -> None:
    """Refuse a job of so many seconds if its project would have more than it may.

    Of a long queue so many of its longest jobs stand for it if there is room for them: summing it
    takes longer than all else.

    Raises:
        QuotaExceeded: It would.
    """
    since = connection.execute(_SINCE, {"window": quotas.window_seconds}).scalar_one()
    row = connection.execute(_STANDING, {"project": project, "since": since}).one()
    if row.queued >= quotas.queued:
        raise QuotaExceeded(
            f"This project may have at most {plural(quotas.queued, 'job')} queued.",
            "Wait until one has started, or cancel one.",
        )
    taken = row.taken + row.queued * row.longest
    # With the longest that may still be asked for, so that what is refused is summed exactly.
    if taken + quotas.longest_budget > quotas.device_seconds:
        taken = row.taken + (connection.execute(_WAITING, {"project": project}).scalar() or 0.0)
    if taken + wanted > quotas.device_seconds:
        raise QuotaExceeded(
            f"This project may use the devices for {quotas.device_seconds:.0f} s within "
            f"{quotas.window_seconds:.0f} s; this job would exceed that.",
            "Use a smaller budget, or try later.",
        )
