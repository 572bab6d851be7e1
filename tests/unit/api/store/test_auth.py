"""API keys."""

import pytest

from autotune.api.identity import Scope
from autotune.api.log import about
from autotune.api.store import auth
from autotune.api.store.auth import Keyring, digest
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.wire.errors import KeyRefused, NotFound
from autotune.wire.jobs import JobRequest


@pytest.fixture
def holders(database: Database) -> Keyring:
    return Keyring(database)


def test_the_secret_is_kept_nowhere(holders: Keyring, database: Database) -> None:
    made = holders.hand_out("ci", [Scope.READ], "ci")
    with database.reading() as connection:
        rows = str(connection.exec_driver_sql("SELECT * FROM keys").all())
    assert made.secret not in rows + repr(made) + repr(holders.all())
    assert digest(made.secret) in rows
    assert len(made.secret) >= 43 + len("autotune_")


def test_expired_and_revoked_keys_are_refused(holders: Keyring) -> None:
    expired = holders.hand_out("old", [Scope.READ], "team", -1)
    revoked = holders.hand_out("lost", [Scope.READ], "lost")
    holders.revoke(revoked.key.id)
    for each in (expired, revoked):
        with pytest.raises(KeyRefused):
            holders.recognise(each.secret)
    # As often as one likes.
    holders.revoke(revoked.key.id)
    with pytest.raises(NotFound):
        holders.revoke("none")


def test_the_first_key_is_made_once(holders: Keyring, database: Database) -> None:
    """It may have code run only where nobody else reaches the service."""
    first = holders.first()
    assert first.key.scopes == set(Scope) - {Scope.CODE}
    holders.revoke(first.key.id)
    assert holders.first(code=True) is None
    with database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM keys")
    assert holders.first(code=True).key.scopes == set(Scope)


def test_a_session_ends_by_its_time_and_a_key_has_a_bounded_number(
    holders: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "MOST_SESSIONS", 3)
    made = holders.hand_out("ci", [Scope.READ], "ci")
    expired = holders.sign_in(made.secret, -1)
    with pytest.raises(KeyRefused):
        holders.recognise(expired)
    found = [holders.sign_in(made.secret, 1000 + number) for number in range(5)]
    assert holders.recognise(found[-1]) == made.key
    with pytest.raises(KeyRefused):
        holders.recognise(found[0])
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT digest FROM sessions").scalars().all()
    assert {*rows} == {digest(each) for each in found[2:]}


def test_changes_are_logged(
    holders: Keyring, jobs: Jobs, asked: JobRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "autotune.service")
    with about(key="somebody", client="10.0.0.1", request="r1"):
        made = holders.hand_out("ci", [Scope.READ], "me").key
        job = jobs.submit(asked, "me")
        jobs.cancel(job.id, "me")
        jobs.cancel(job.id, "me")
        holders.revoke(made.id)
    shown = [each.fields for each in caplog.records]
    assert {(each["key"], each["client"], each["request"]) for each in shown} == {
        ("somebody", "10.0.0.1", "r1")
    }
    assert [(each["action"], each["target"]) for each in shown] == [
        ("create key", made.id),
        ("submit job", job.id),
        ("cancel job", job.id),
        ("revoke key", made.id),
    ]
