"""Members of projects and sessions of people, on both databases."""

from __future__ import annotations

import threading

import pytest

from autotune.api.errors import KeyRefused, NotFound, ScopeMissing
from autotune.api.requests import JobRequest
from autotune.api.roles import Caller, Role, Scope
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.members import Member, Members

ANNA = Caller(id="person:anna@example.org", name="Anna", roles={"a": Role.VIEWER})


def test_the_greater_role_counts(database: Database) -> None:
    """Whether a group at the provider gives it, or the project."""
    members, keyring = Members(database), Keyring(database)
    session = keyring.sign_in_person(ANNA, "state", 60)
    members.add("a", ANNA.id, Role.ADMIN)
    members.add("b", ANNA.id, Role.EDITOR)
    assert keyring.recognise(session).roles == {"a": Role.ADMIN, "b": Role.EDITOR}
    members.add("a", ANNA.id, Role.VIEWER)
    members.remove("b", ANNA.id)
    assert keyring.recognise(session).roles == {"a": Role.VIEWER}
    assert members.all() == (Member(project="a", member=ANNA.id, role=Role.VIEWER),)
    with pytest.raises(NotFound):
        members.remove("b", ANNA.id)


def test_a_sign_in_begins_one_session(database: Database) -> None:
    """Neither at once, nor later, nor after it has ended."""
    keyring = Keyring(database)
    begun: list[str] = []

    def sign_in() -> None:
        begun.append(keyring.sign_in_person(ANNA, "state", 60))

    def attempt() -> None:
        with pytest.raises(KeyRefused):
            sign_in()

    sign_in()
    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    keyring.sign_out(begun[0])
    attempt()
    assert len(begun) == 1
    with pytest.raises(KeyRefused):
        keyring.recognise(begun[0])


def test_sessions_end_by_their_time_and_by_the_operator(database: Database) -> None:
    """All of a person's at once."""
    keyring = Keyring(database)
    with pytest.raises(KeyRefused):
        keyring.recognise(keyring.sign_in_person(ANNA, "old", -1))
    found = [keyring.sign_in_person(ANNA, state, 60) for state in ("x", "y")]
    assert keyring.end_sessions(ANNA.id) == len(found)
    for each in found:
        with pytest.raises(KeyRefused):
            keyring.recognise(each)


def test_a_person_of_no_project_is_not_signed_in(database: Database) -> None:
    """There would be nothing to see, and nothing is kept."""
    nobody = Caller(id="person:x", name="x")
    with pytest.raises(ScopeMissing):
        Keyring(database).sign_in_person(nobody, "state", 60)
    Members(database).add("a", nobody.id, Role.VIEWER)
    Keyring(database).sign_in_person(nobody, "state", 60)


def test_a_key_that_is_rotated_keeps_its_roles(database: Database) -> None:
    """In all projects."""
    keyring = Keyring(database)
    old = keyring.hand_out("ci", [Scope.READ], project="a")
    Members(database).add("b", old.key.id, Role.EDITOR)
    new = keyring.rotate(old.key.id, 60)
    assert keyring.recognise(new.secret).projects(Scope.WRITE) == {"b"}


def test_several_projects_are_one_list(jobs: Jobs, asked: JobRequest) -> None:
    """The newest first, and nothing of others."""
    made = [jobs.submit(asked, owner).id for owner in ("a", "b", "c", "a", "b")]
    both = frozenset({"a", "b"})
    page = jobs.page(both, limit=3)
    rest = jobs.page(both, limit=3, before=page.next)
    assert [each.id for each in (*page.tunings, *rest.tunings)] == [made[n] for n in (4, 3, 1, 0)]
    assert jobs.page(frozenset()).tunings == ()
    assert jobs.get(made[0], both).owner == "a"
    for owner in (both, frozenset[str]()):
        with pytest.raises(NotFound):
            jobs.get(made[2], owner)
