"""What must be true of the database at any moment, whatever was killed."""

from collections import Counter
from typing import Any

from sqlalchemy import Connection, Row, func, select

from autotune.api.settings import Quotas
from autotune.api.store.database import Database, Now
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import attempts, jobs, trials
from autotune.api.workloads import Registry
from autotune.events import TrialEnded
from autotune.reason import Outcome
from autotune.wire.events import Ended
from autotune.wire.jobs import FINAL, HELD, State

from .world import markers_alive

_OVER = (attempts.c.job_id, attempts.c.number, attempts.c.messages, attempts.c.ending)
_ENDED = (jobs.c.id, jobs.c.state, jobs.c.events, jobs.c.trials, jobs.c.ended_at, jobs.c.attempt)


class Ledger:
    def __init__(self, database: Database, lease: float) -> None:
        self._database = database
        self._jobs = Jobs(database, Registry({}), Quotas())
        self._lease = lease
        self._over: dict[tuple[str, int], Row[Any]] = {}
        self.ended: dict[str, Row[Any]] = {}

    def check(self) -> None:
        with self._database.reading() as connection:
            self._check_attempts(connection)
            self._check_devices(connection)
            fresh = self._check_ended(connection)
            swept = set(_swept(connection))
        for each in fresh:
            self._check_whole(each)
        assert not swept & markers_alive(), "a process outlived its attempt"

    def left_over(self) -> set[str]:
        with self._database.reading() as connection:
            known = set(connection.execute(select(attempts.c.marker)).scalars())
        return known & markers_alive()

    def _check_attempts(self, connection: Connection) -> None:
        over = select(*_OVER).where(attempts.c.ended_at.is_not(None))
        for row in connection.execute(over):
            assert self._over.setdefault((row.job_id, row.number), row) == row

    def _check_devices(self, connection: Connection) -> None:
        # What ends later than any lease was given before the clock was put back.
        until = Now() + self._lease
        live = (jobs.c.state.in_(HELD), jobs.c.expires_at > Now(), jobs.c.expires_at <= until)
        held = select(func.count()).where(*live).group_by(jobs.c.devices)
        assert all(count == 1 for count in connection.execute(held).scalars())

    def _check_ended(self, connection: Connection) -> list[str]:
        rows = connection.execute(select(*_ENDED).where(jobs.c.state.in_(FINAL))).all()
        fresh = [row.id for row in rows if row.id not in self.ended]
        for row in rows:
            assert self.ended.setdefault(row.id, row) == row, "a job ended twice"
        return fresh

    def _check_whole(self, job_id: str) -> None:
        shown = []
        while page := self._jobs.events(job_id, None, after=len(shown)):
            shown += page
        assert [each.number for each in shown] == list(range(1, len(shown) + 1))
        assert [each for each in shown if isinstance(each.body, Ended)] == [shown[-1]]
        recorded = self._jobs.detail(job_id, None).trials
        assert [each.number for each in recorded] == list(range(len(recorded)))
        said = Counter(
            each.body.trial.number for each in shown if isinstance(each.body, TrialEnded)
        )
        assert said == Counter(range(len(recorded)))
        self._check_result(job_id, [each.outcome for each in recorded])

    def _check_result(self, job_id: str, outcomes: list[Outcome]) -> None:
        job = self._jobs.get(job_id, None)
        if job.state is State.DONE:
            found = self._jobs.recommendation(job_id, None)
            assert [each.outcome for each in found.trials] == outcomes
        elif job.state is State.FAILED:
            assert Outcome.CRASHED in outcomes, job.reason


def _swept(connection: Connection) -> list[str]:
    over = (attempts.c.swept.is_(True), attempts.c.ended_at.is_not(None))
    return [*connection.execute(select(attempts.c.marker).where(*over)).scalars()]


def trials_recorded(database: Database) -> int:
    with database.reading() as connection:
        return connection.execute(select(func.count()).select_from(trials)).scalar_one()
