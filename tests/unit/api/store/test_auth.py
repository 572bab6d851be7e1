"""API keys."""

from __future__ import annotations

import pytest

from autotune.api.errors import KeyRefused, NotFound, ScopeMissing
from autotune.api.log import about
from autotune.api.requests import JobRequest
from autotune.api.roles import Role, Scope
from autotune.api.states import State
from autotune.api.store import auth
from autotune.api.store.auth import Keyring, digest
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs, cancel_all, reassign


@pytest.fixture
def holders(database: Database) -> Keyring:
    return Keyring(database)


def test_a_key_is_recognised(holders: Keyring) -> None:
    """Whoever has the secret has the key's scopes."""
    made = holders.hand_out("ci", [Scope.READ])
    assert holders.recognise(made.secret) == made.key
    assert made.key.owner == {made.key.id}


def test_the_secret_is_kept_nowhere(holders: Keyring, database: Database) -> None:
    """The database holds a digest, and no text of the program shows the secret."""
    made = holders.hand_out("ci", [Scope.READ])
    with database.reading() as connection:
        rows = str(connection.exec_driver_sql("SELECT * FROM keys").all())
    assert made.secret not in rows + repr(made) + repr(holders.all())
    assert digest(made.secret) in rows
    assert len(made.secret) >= 43 + len("autotune_")


@pytest.mark.parametrize("wrong", ["", "autotune_", "autotune_" + "x" * 43, "é" * 52, "x" * 10_000])
def test_other_secrets_are_refused(holders: Keyring, wrong: str) -> None:
    """Unknown and malformed keys are refused with the same words."""
    with pytest.raises(KeyRefused, match="Invalid API key"):
        holders.recognise(wrong)


def test_expired_and_revoked_keys_are_refused(holders: Keyring) -> None:
    """A key ends by its time or by the operator's word."""
    expired = holders.hand_out("old", [Scope.READ], seconds=-1)
    revoked = holders.hand_out("lost", [Scope.READ])
    holders.revoke(revoked.key.id)
    for each in (expired, revoked):
        with pytest.raises(KeyRefused):
            holders.recognise(each.secret)
    with pytest.raises(NotFound):
        holders.revoke(revoked.key.id)


def test_the_first_key_is_made_once(holders: Keyring) -> None:
    """A service without keys makes one that may do everything, and never again."""
    first = holders.first()
    assert first is not None
    assert first.key.scopes == set(Scope)
    assert first.key.owner is None
    holders.revoke(first.key.id)
    assert holders.first() is None


def test_a_missing_scope_is_named(holders: Keyring) -> None:
    """The error says what the key lacks."""
    made = holders.hand_out("ci", [Scope.READ])
    made.key.require(Scope.READ)
    with pytest.raises(ScopeMissing, match="tunings:write"):
        made.key.require(Scope.WRITE)


def test_an_administrator_may_look_and_not_ask(holders: Keyring) -> None:
    """Seeing everybody's jobs includes one's own; changing them is another matter."""
    key = holders.hand_out("ops", [Scope.ADMIN]).key
    key.require(Scope.READ)
    with pytest.raises(ScopeMissing):
        key.require(Scope.WRITE)


def test_a_key_that_replaces_another_keeps_its_jobs(
    holders: Keyring, jobs: Jobs, asked: JobRequest
) -> None:
    """Jobs belong to the project, not to the key that asked for them."""
    old = holders.hand_out("alice", [Scope.READ], project="alice").key
    job = jobs.submit(asked, old.project, created_by=old.id)
    holders.revoke(old.id)
    new = holders.hand_out("alice", [Scope.READ], project="alice").key
    assert jobs.get(job.id, new.owner).created_by == old.id
    other = holders.hand_out("bob", [Scope.READ], project="bob").key
    with pytest.raises(NotFound):
        jobs.get(job.id, other.owner)


def test_the_jobs_of_a_revoked_key_can_be_ended(
    holders: Keyring, jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    """Those of another key of its project go on."""
    lost, kept = (holders.hand_out(each, [Scope.WRITE], project="team").key for each in "ab")
    mine = jobs.submit(asked, "team", created_by=lost.id)
    other = jobs.submit(asked, "team", created_by=kept.id)
    assert cancel_all(database, lost.id) == 1
    assert jobs.get(mine.id, "team").state is State.CANCELLED
    assert jobs.get(other.id, "team").state is State.QUEUED


def test_the_metrics_need_no_administrator(holders: Keyring) -> None:
    """What reads them may see no job."""
    key = holders.hand_out("prometheus", [Scope.METRICS]).key
    key.require(Scope.METRICS)
    with pytest.raises(ScopeMissing):
        key.require(Scope.READ)
    holders.hand_out("ops", [Scope.ADMIN]).key.require(Scope.METRICS)


def test_a_key_has_a_bounded_number_of_sessions(
    holders: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest stay."""
    monkeypatch.setattr(auth, "MOST_SESSIONS", 3)
    made = holders.hand_out("ci", [Scope.READ])
    found = [holders.sign_in(made.secret, 1000 + number) for number in range(5)]
    assert holders.recognise(found[-1]) == made.key
    with pytest.raises(KeyRefused):
        holders.recognise(found[0])
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM sessions").scalar() == 3


def test_what_is_done_with_keys_and_jobs_is_kept(
    holders: Keyring, jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    """Who, what, to what, from where, and in which request."""
    with about(key="somebody", client="10.0.0.1", request="r1"):
        made = holders.hand_out("ci", [Scope.READ]).key
        job = jobs.submit(asked, "me")
        jobs.cancel(job.id, "me")
        holders.revoke(made.id)
    with database.reading() as connection:
        columns = "actor, action, target, client, request"
        rows = connection.exec_driver_sql(f"SELECT {columns} FROM audit ORDER BY seq").all()  # noqa: S608 - a constant
    where = ("10.0.0.1", "r1")
    assert [tuple(each) for each in rows] == [
        ("somebody", "create key", made.id, *where),
        ("somebody", "submit", job.id, *where),
        ("somebody", "cancel", job.id, *where),
        ("somebody", "revoke key", made.id, *where),
    ]


@pytest.mark.parametrize("project", [None, "team"])
def test_a_key_is_replaced_without_losing_its_jobs(
    holders: Keyring, jobs: Jobs, asked: JobRequest, project: str | None
) -> None:
    """The new one may do the same in the same project; for a while both are valid."""
    old = holders.hand_out("ci", [Scope.READ], 3600.0, project)
    job = jobs.submit(asked, old.key.project)
    new = holders.rotate(old.key.id, 60.0)
    assert jobs.get(job.id, holders.recognise(new.secret).owner).id == job.id
    assert (new.key.name, new.key.scopes) == ("ci", {Scope.READ})
    assert new.key.expires_at == pytest.approx(new.key.created_at + 3600, abs=1)
    ends = holders.recognise(old.secret).expires_at
    assert ends == pytest.approx(new.key.created_at + 60, abs=5)
    with pytest.raises(NotFound):
        holders.rotate("nobody", 60.0)


def test_a_key_that_ends_sooner_is_not_prolonged(holders: Keyring) -> None:
    """By replacing it; one that is replaced at once is refused from then on."""
    old = holders.hand_out("ci", [Scope.READ], 60.0)
    new = holders.rotate(old.key.id, 3600.0)
    assert holders.recognise(old.secret).expires_at == old.key.expires_at
    holders.rotate(new.key.id, 0.0)
    with pytest.raises(KeyRefused):
        holders.recognise(new.secret)


def test_a_role_is_a_name_for_scopes() -> None:
    """Each allows what the one before does; none of them operates the service."""
    viewer, editor, admin = (Role(each).scopes for each in ("viewer", "editor", "admin"))
    assert viewer == {Scope.READ}
    assert viewer < editor < admin == set(Scope) - {Scope.ADMIN, Scope.METRICS}


def test_jobs_are_given_to_another_project(
    jobs: Jobs, asked: JobRequest, database: Database
) -> None:
    """All of them or some; the old project does not find them any more, and it is noted."""
    first, second = (jobs.submit(asked, "old", key).id for key in ("k1", "k2"))
    assert reassign(database, "old", "new", [first]) == (first,)
    assert jobs.get(first, "new").owner == "new"
    with pytest.raises(NotFound):
        jobs.get(first, "old")
    assert jobs.submit(asked, "old", "k2").id == second
    assert jobs.submit(asked, "old", "k1").id != first
    assert second in reassign(database, "old", "new")
    assert jobs.page("old").tunings == ()
    with pytest.raises(NotFound, match="has no such job"):
        reassign(database, "old", "new")
