"""What callers may do in which project."""

from __future__ import annotations

import pytest

from autotune.api.errors import NotFound, ProjectMissing, ScopeMissing
from autotune.api.roles import Caller, Role, Scope

ANNA = Caller(
    id="person:anna", name="Anna", roles={"a": Role.EDITOR, "b": Role.VIEWER, "c": Role.ADMIN}
)


def test_roles_differ_by_project() -> None:
    """What is allowed in one is not allowed in another."""
    assert ANNA.owner == {"a", "b", "c"}
    assert ANNA.projects(Scope.WRITE) == {"a", "c"}
    assert ANNA.projects(Scope.PROJECT) == {"c"}
    ANNA.require(Scope.WRITE, "a")
    for scope, project in ((Scope.WRITE, "b"), (Scope.PROJECT, "a"), (Scope.READ, "d")):
        with pytest.raises(ScopeMissing, match="This person lacks"):
            ANNA.require(scope, project)


@pytest.mark.parametrize("scope", [Scope.ADMIN, Scope.METRICS])
def test_no_role_reaches_beyond_projects(scope: Scope) -> None:
    """An administrator of all projects there are is none of the service."""
    with pytest.raises(ScopeMissing):
        ANNA.require(scope)


def test_an_administrator_of_the_service_is_one_of_every_project() -> None:
    """It changes jobs only where it was given that."""
    ops = Caller(id="k", name="ops", project="p", scopes=frozenset({Scope.ADMIN}))
    assert ops.owner is None
    assert ops.may(Scope.PROJECT, "any")
    assert not ops.may(Scope.WRITE, "p")


def test_a_job_goes_where_it_is_said_or_can_go() -> None:
    """Where there are several the caller has to choose, and among its own."""
    assert ANNA.project_for("a") == "a"
    with pytest.raises(ProjectMissing):
        ANNA.project_for(None)
    with pytest.raises(ScopeMissing):
        ANNA.project_for("b")
    with pytest.raises(NotFound):
        ANNA.project_for("d")
    one = Caller(id="person:b", name="b", roles={"a": Role.EDITOR, "b": Role.VIEWER})
    assert one.project_for(None) == "a"
