"""Members of projects on the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import Result

from autotune.api.roles import Role
from autotune.api.settings import load_settings
from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.api.store.members import Members

Run = Callable[..., Result]
ANNA = "person:anna@example.org"


@pytest.fixture
def service() -> None:
    """One that was started in the working folder before."""
    open_database(load_settings()).close()


def members() -> Members:
    """Return those of the service of the working folder."""
    return Members(Database(load_settings().database_url))


@pytest.mark.usefixtures("service")
def test_members_are_added_listed_and_removed(run: Run) -> None:
    """The list shows what was added, and nothing that was removed."""
    assert run("members", "add", "vision", ANNA, "--role", "admin").exit_code == 0
    assert members().roles(ANNA) == {"vision": Role.ADMIN}
    assert ANNA in run("members", "list").stdout
    assert ANNA not in run("members", "list", "speech").stdout
    assert run("members", "remove", "vision", ANNA).exit_code == 0
    assert members().roles(ANNA) == {}


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "vision", ANNA, "--role", "king"), 2),
        (("add", "vision", "anna@example.org"), 3),
        (("add", "a\nb", ANNA), 2),
        (("remove", "vision", ANNA), 3),
    ],
)
def test_a_wrong_call_is_told(run: Run, words: tuple[str, ...], code: int) -> None:
    """Unknown roles and members end with a message and no traceback."""
    done = run("members", *words)
    assert done.exit_code == code
    assert "Error:" in done.stderr


@pytest.mark.usefixtures("service")
def test_a_person_is_signed_out(run: Run) -> None:
    """It says how many sessions have ended."""
    assert "0 sessions" in run("members", "sign-out", ANNA).stderr
