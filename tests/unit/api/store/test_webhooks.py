"""The outbox of webhooks: what is sent, in which order, and until when."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import update

from autotune.api.errors import NotFound, QuotaExceeded
from autotune.api.requests import JobRequest
from autotune.api.settings import WebhookLimits
from autotune.api.states import State
from autotune.api.store import attempts, webhooks as outbox
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import deliveries, jobs as rows, webhooks
from autotune.api.store.webhooks import Webhooks, settle, take, tidy
from autotune.api.values import Outcome, Post
from autotune.api.webhooks import ENDINGS, NewWebhook, Occasion, Parcel, Standing, Trouble

URL = "https://ci.example.org/hook"
DELAYS = (5.0, 60.0)
HOLD = 30.0


@pytest.fixture
def hooks(database: Database) -> Webhooks:
    """Two for each project."""
    return Webhooks(database, WebhookLimits(most=2))


@pytest.fixture
def hook(hooks: Webhooks) -> NewWebhook:
    """One that is told of every end."""
    return hooks.add(URL, ENDINGS, "me")


def cancelled(jobs: Jobs, asked: JobRequest, project: str = "me") -> str:
    """Return the id of a job that has ended."""
    return jobs.cancel(jobs.submit(asked, project).id, project).id


def change(database: Database, **values: Any) -> None:
    """Have time pass, as it were."""
    with database.writing() as connection:
        connection.execute(update(deliveries).values(**values))


def taken(database: Database) -> Parcel:
    """Return what is due."""
    parcel = take(database, HOLD)
    assert parcel is not None
    return parcel


def test_the_end_of_a_job_is_announced(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """With what is known of it, once, and signed by the secret that was shown."""
    job = cancelled(jobs, asked)
    parcel = taken(database)
    assert (parcel.url, parcel.secrets, parcel.attempt) == (URL, (hook.secret,), 1)
    assert parcel.body.data is not None
    assert (parcel.body.type, parcel.body.data.id) == (Occasion.CANCELLED, job)
    assert settle(database, parcel, DELAYS, 204) is Standing.DELIVERED
    assert take(database, HOLD) is None
    (told,) = hooks.deliveries(hook.id, "me")
    assert (told.id, told.state, told.status, told.due_at) == (
        parcel.id,
        Standing.DELIVERED,
        204,
        None,
    )


@pytest.mark.parametrize("state", [State.DONE, State.FAILED])
def test_a_worker_that_ends_a_job_announces_it(
    database: Database, jobs: Jobs, asked: JobRequest, hook: NewWebhook, state: State
) -> None:
    """With its verdict, or why it failed."""
    del hook
    jobs.submit(asked, "me")
    claimed = attempts.claim(database, Post(worker="w", devices="d", host="h"), 60.0)
    assert claimed is not None
    attempts.finish(database, claimed.grip, Outcome(state=state, reason="why"))
    data = taken(database).body.data
    assert data is not None
    assert (data.state, data.reason) == (state, "why")


def test_other_projects_and_other_events_are_not_told(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks
) -> None:
    """Each hears of its own jobs, and of what it wants to hear."""
    hooks.add(URL, [Occasion.DONE], "me")
    cancelled(jobs, asked)
    hooks.add(URL, ENDINGS, "you")
    cancelled(jobs, asked)
    assert take(database, HOLD) is None


def test_a_transaction_that_fails_announces_nothing(
    database: Database, jobs: Jobs, asked: JobRequest, hook: NewWebhook
) -> None:
    """The end and its announcement are there together, or not at all."""
    del hook
    job = jobs.submit(asked, "me").id
    with suppress(ZeroDivisionError), database.writing() as connection:
        outbox.announce(connection, job, Occasion.DONE)
        raise ZeroDivisionError
    assert take(database, HOLD) is None


def test_what_fails_is_sent_again_later_and_later_and_then_given_up(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """Each attempt is of the same delivery."""
    cancelled(jobs, asked)
    seen = []
    for expected in (5.0, 60.0, None):
        parcel = taken(database)
        settle(database, parcel, DELAYS, 500, Trouble.STATUS)
        (told,) = hooks.deliveries(hook.id, None)
        wait = told.due_at and told.tried_at and told.due_at - told.tried_at
        assert wait == (expected and pytest.approx(expected, abs=2))
        assert take(database, HOLD) is None
        seen.append((parcel.id, told.state))
        change(database, due_at=0.0)
    assert [state for _, state in seen] == [Standing.PENDING, Standing.PENDING, Standing.FAILED]
    assert len({each for each, _ in seen}) == 1


def test_one_sender_at_a_time_has_a_webhook(
    database: Database, jobs: Jobs, asked: JobRequest, hook: NewWebhook
) -> None:
    """Two ends are told one after the other; another webhook does not wait for that."""
    first, second = cancelled(jobs, asked), cancelled(jobs, asked)
    parcel = taken(database)
    assert take(database, HOLD) is None
    settle(database, parcel, DELAYS, 200)
    bodies = [parcel.body.data, taken(database).body.data]
    assert [each and each.id for each in bodies] == [first, second]
    del hook


def test_what_a_dead_sender_had_is_sent_again(
    database: Database, jobs: Jobs, asked: JobRequest, hook: NewWebhook
) -> None:
    """And what it still finds out counts no more."""
    cancelled(jobs, asked)
    lost = taken(database)
    with database.writing() as connection:
        connection.execute(update(webhooks).values(held_until=0.0))
    again = taken(database)
    assert (again.id, again.attempt) == (lost.id, 2)
    settle(database, lost, DELAYS, 200)
    assert take(database, HOLD) is None
    settle(database, again, DELAYS, 500, Trouble.STATUS)
    change(database, due_at=0.0)
    assert taken(database).attempt == 3
    del hook


def test_who_has_waited_the_longest_is_next(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """A project with many deliveries does not keep another one waiting."""
    cancelled(jobs, asked)
    cancelled(jobs, asked)
    other = hooks.add(URL, ENDINGS, "you")
    cancelled(jobs, asked, "you")
    order = []
    for _ in range(3):
        parcel = taken(database)
        order.append(parcel.webhook)
        settle(database, parcel, DELAYS, 200)
    assert order == [hook.id, other.id, hook.id]


def test_too_many_that_wait_are_not_kept(
    database: Database,
    jobs: Jobs,
    asked: JobRequest,
    hooks: Webhooks,
    hook: NewWebhook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The job ends all the same; the list says what was left out, and a test is refused."""
    monkeypatch.setattr(outbox, "MOST_PENDING", 1)
    cancelled(jobs, asked)
    cancelled(jobs, asked)
    told = hooks.deliveries(hook.id, "me")
    assert [each.error for each in told] == [Trouble.QUEUE_FULL, None]
    with pytest.raises(QuotaExceeded):
        hooks.test(hook.id, "me")
    del database


def test_what_is_too_old_is_not_sent(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """It is given up, and forgotten after a while."""
    cancelled(jobs, asked)
    change(database, created_at=0.0)
    assert take(database, HOLD) is None
    tidy(database)
    assert hooks.deliveries(hook.id, "me")[0].error is Trouble.EXPIRED
    change(database, due_at=0.0)
    tidy(database)
    assert hooks.deliveries(hook.id, "me") == ()


def test_a_test_is_sent_once(database: Database, hooks: Webhooks, hook: NewWebhook) -> None:
    """Whoever asks for it looks at what came of it."""
    made = hooks.test(hook.id, "me")
    parcel = taken(database)
    assert (parcel.id, parcel.body.data) == (made.id, None)
    settled = settle(database, parcel, DELAYS, error=Trouble.UNREACHABLE)
    assert settled is Standing.FAILED


def test_a_secret_that_is_replaced_signs_for_a_while(
    database: Database, hooks: Webhooks, hook: NewWebhook
) -> None:
    """So that a receiver may learn the new one without losing anything."""
    new = hooks.rotate(hook.id, "me")
    hooks.test(hook.id, "me")
    parcel = taken(database)
    assert parcel.secrets == (new.secret, hook.secret)
    settle(database, parcel, DELAYS, 200)
    with database.writing() as connection:
        connection.execute(update(webhooks).values(old_until=0.0))
    hooks.test(hook.id, "me")
    assert taken(database).secrets == (new.secret,)


def test_a_webhook_that_is_removed_is_told_nothing(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """What came of an attempt that was under way is of no interest either."""
    cancelled(jobs, asked)
    cancelled(jobs, asked)
    parcel = taken(database)
    hooks.remove(hook.id, "me")
    settle(database, parcel, DELAYS, 500, Trouble.STATUS)
    assert take(database, HOLD) is None
    assert hooks.all(None) == ()


def test_a_project_sees_and_changes_its_own_webhooks(hooks: Webhooks, hook: NewWebhook) -> None:
    """Those of others are not there; who sees everything sees them, too."""
    assert hooks.all("you") == ()
    for each in (hooks.remove, hooks.rotate, hooks.test, hooks.deliveries):
        with pytest.raises(NotFound):
            each(hook.id, "you")
    assert [each.id for each in hooks.all(None)] == [hook.id]


def test_a_project_has_so_many_webhooks(hooks: Webhooks, hook: NewWebhook) -> None:
    """Another one has as many of its own."""
    del hook
    hooks.add(URL, ENDINGS, "me")
    with pytest.raises(QuotaExceeded, match="at most 2 webhooks"):
        hooks.add(URL, ENDINGS, "me")
    hooks.add(URL, ENDINGS, "you")


def test_what_another_version_tells_keeps_nobody_waiting(
    database: Database, jobs: Jobs, asked: JobRequest, hooks: Webhooks, hook: NewWebhook
) -> None:
    """A verdict that this one does not know is told as it is, an event is left alone."""
    first, second = cancelled(jobs, asked), cancelled(jobs, asked)
    with database.writing() as connection:
        mine = update(deliveries).where(deliveries.c.job_id == first)
        connection.execute(mine.values(event="job.paused"))
        connection.execute(update(rows).where(rows.c.id == second).values(verdict="perhaps"))
        connection.execute(update(webhooks).values(events="job.paused job.done"))
    data = taken(database).body.data
    assert data is not None
    assert (data.id, data.verdict) == (second, "perhaps")
    assert [each.job for each in hooks.deliveries(hook.id, "me")] == [second]
    assert hooks.all("me")[0].events == (Occasion.DONE,)
