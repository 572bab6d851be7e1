"""The job service: what a route calls, one function for each."""

from __future__ import annotations

from collections.abc import Callable, Collection

from autotune.api.asked import Asked, checked
from autotune.api.errors import DatabaseUnavailable, NoRecommendation
from autotune.api.migrations import is_current, migrate
from autotune.api.runnable import check_runnable
from autotune.api.settings import Quotas, Settings
from autotune.api.states import FINAL, State
from autotune.api.store import reading, submissions
from autotune.api.store.database import Database
from autotune.api.values import Job, JobEvent, JobTrial, Page, Repeatable, Story
from autotune.api.workloads import Registry
from autotune.machine import Machine
from autotune.recommendation import Recommendation

MOST_JOBS = 100
MOST_EVENTS = 500
MOST_TRIALS = 500
MOST_TOLD = 400
"""Of the trials, and of the events, in the story of a job."""


class Jobs:
    """Takes in jobs and tells of them. Threads may share it.

    Everywhere `owner` is the id of the key that asks, or None for one that may see everything. A
    job of somebody else's is not found.

    Args:
        database: Keeps the jobs.
        registry: The workloads that may be asked for.
        quotas: What one key may have.
        machine: Returns at once what jobs are measured on, or None while that is not known; then
            nobody checks here whether anything of a space can run, and the job's worker finds out.
    """

    def __init__(
        self,
        database: Database,
        registry: Registry,
        quotas: Quotas,
        machine: Callable[[], Machine | None] = lambda: None,
    ) -> None:
        self._database = database
        self._registry = registry
        self._quotas = quotas
        self._machine = machine

    def submit(self, asked: Asked, owner: str, idempotency_key: str | None = None) -> Job:
        """Take in a job; when this returns, it survives a crash of anything.

        Args:
            asked: What was asked for.
            owner: Whose it will be.
            idempotency_key: With the same one the same request makes no second job.

        Raises:
            InvalidTuning: The request is wrong.
            QuotaExceeded: The owner has as much as it may.
            IdempotencyMismatch: The idempotency key came with another request before.
        """
        tuning = checked(asked, self._registry, self._quotas)
        machine = self._machine()
        if machine is not None:
            check_runnable(asked.space, asked.constraints, machine)
        repeatable = idempotency_key and Repeatable(
            key=idempotency_key, fingerprint=asked.fingerprint
        )
        limits = self._quotas.limits
        return submissions.submit(self._database, tuning, owner, limits, repeatable or None)

    def get(self, job_id: str, owner: str | None) -> Job:
        """Return a job as it stands.

        Raises:
            NotFound: There is none.
        """
        return reading.job(self._database, job_id, owner)

    def page(
        self,
        owner: str | None,
        *,
        states: Collection[State] = (),
        before: str | None = None,
        limit: int = 20,
    ) -> Page:
        """Return some jobs, newest first.

        Args:
            owner: Whose.
            states: Only those in one of these; empty for all.
            before: The `next_before` of the page before; None for the first.
            limit: At most so many, and at most `MOST_JOBS`.

        Raises:
            NotFound: There is no job `before`.
        """
        most = max(1, min(limit, MOST_JOBS))
        return reading.page(self._database, owner, states=states, before=before, limit=most)

    def trials(
        self, job_id: str, owner: str | None, *, after: int = -1, limit: int = MOST_TRIALS
    ) -> tuple[JobTrial, ...]:
        """Return the trials of a job after a number.

        Raises:
            NotFound: There is no such job.
        """
        most = max(1, min(limit, MOST_TRIALS))
        return reading.trials_of(self._database, job_id, owner, after=after, limit=most)

    def trial_records(
        self, job_id: str, owner: str | None, *, after: int = -1, limit: int = MOST_TRIALS
    ) -> tuple[str, ...]:
        """Return the trials of a job after a number, each as JSON; reading them takes longest.

        Raises:
            NotFound: There is no such job.
        """
        most = max(1, min(limit, MOST_TRIALS))
        return reading.trial_records_of(self._database, job_id, owner, after=after, limit=most)

    def events(
        self, job_id: str, owner: str | None, *, after: int = 0, limit: int = MOST_EVENTS
    ) -> tuple[JobEvent, ...]:
        """Return what happened to a job after an event, oldest first; the last one is `ended`.

        Raises:
            NotFound: There is no such job.
        """
        most = max(1, min(limit, MOST_EVENTS))
        return reading.events_of(self._database, job_id, owner, after=after, limit=most)

    def story(self, job_id: str, owner: str | None) -> Story:
        """Return a job with its latest trials and events, and its recommendation if there is one.

        Raises:
            NotFound: There is no such job.
        """
        return reading.story(self._database, job_id, owner, MOST_TOLD)

    def cancel(self, job_id: str, owner: str | None) -> Job:
        """Have a job end: nothing of it is left within ten seconds.

        Raises:
            NotFound: There is no such job.
            IllegalTransition: It has ended otherwise.
        """
        return submissions.cancel(self._database, job_id, owner)

    def recommendation(self, job_id: str, owner: str | None) -> Recommendation:
        """Return the recommendation of a job.

        Raises:
            NotFound: There is no such job.
            NoRecommendation: It has none, or none yet.
        """
        state, found, _ = reading.recommendation_of(self._database, job_id, owner)
        if found is None:
            raise _none_yet(state)
        return Recommendation.model_validate_json(found)

    def short_recommendation(self, job_id: str, owner: str | None) -> tuple[str, int]:
        """Return the recommendation of a job as JSON without its trials, and how many these are.

        Raises:
            NotFound: There is no such job.
            NoRecommendation: It has none, or none yet.
        """
        state, found, trials = reading.short_recommendation_of(self._database, job_id, owner)
        if found is None:
            raise _none_yet(state)
        return found, trials

    def counts(self) -> dict[State, int]:
        """Return how many jobs are in each state."""
        return reading.counts(self._database)

    def device_seconds(self) -> float:
        """Return the seconds that all jobs together have spent on their searches."""
        return reading.device_seconds(self._database)

    def check(self) -> None:
        """Make sure that the database answers and has the schema of this version.

        Raises:
            DatabaseUnavailable: It does not.
        """
        if not is_current(self._database):
            raise DatabaseUnavailable(
                "The database schema is from another version.", "Restart the service."
            )


def open_database(settings: Settings) -> Database:
    """Return the database of some settings, with the schema up to date.

    Raises:
        SettingsError: The settings are wrong.
        DatabaseUnavailable: The database does not answer.
    """
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.database_url)
    migrate(database)
    return database


def _none_yet(state: State) -> NoRecommendation:
    if state in FINAL:
        return NoRecommendation(
            f"The job is {state} and has no recommendation.", "See the job's reason."
        )
    return NoRecommendation(f"The job is {state}.", "Wait until the job is done.")
