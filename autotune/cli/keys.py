"""`autotune keys`: who may use the service."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.console import log, show, table, write_out
from autotune.cli.database import service_database
from autotune.cli.options import SettingsFile
from autotune.errors import UsageError
from autotune.text import plural

if TYPE_CHECKING:
    from autotune.api.identity import Scope
    from autotune.api.store.auth import Key

app = typer.Typer(
    help="Create, list and revoke API keys of the service.",
    no_args_is_help=True,
)

DAY_SECONDS = 86400.0
KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of the key.", show_default=False)]


@app.command()
def create(
    *,
    name: Annotated[
        str, typer.Argument(help="Name of the key, such as its owner.", show_default=False)
    ],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="read, write or admin (priority, workers); repeatable. [default: read and write]",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0.001, help="Days until it expires.", show_default="for good"),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            help="Whose jobs it may see, and whose its jobs are.", show_default="the key's name"
        ),
    ] = None,
    settings: SettingsFile = None,
) -> None:
    """Create a key and print it; it is shown only once."""
    from autotune.api.store.auth import Keyring

    scopes, whose = _scopes(scope or ("read", "write")), checked_name(project or name)
    with service_database(settings) as database:
        seconds = days and days * DAY_SECONDS
        made = Keyring(database).hand_out(checked_name(name), scopes, whose, seconds)
    log(f"Key {made.key.id} for {made.key.name}, shown only once:")
    write_out(f"{made.secret}\n")


@app.command("list")
def listing(*, settings: SettingsFile = None) -> None:
    """List all keys, including revoked and expired ones."""
    from autotune.api.store.auth import Keyring

    with service_database(settings) as database:
        found = Keyring(database).all()
    heads = ("id", "name", "project", "scopes", "made", "until")
    show(table(heads, map(_line, found)))


@app.command()
def revoke(
    *,
    key: KeyId,
    cancel_jobs: Annotated[
        bool, typer.Option("--cancel-jobs", help="Cancel the jobs that were created with it.")
    ] = False,
    settings: SettingsFile = None,
) -> None:
    """Revoke a key at once. Its jobs go on unless they are cancelled."""
    from autotune.api.store.auth import Keyring
    from autotune.api.store.jobs import cancel_all

    with service_database(settings) as database:
        Keyring(database).revoke(key)
        ended = cancel_all(database, key) if cancel_jobs else 0
    log(f"Key {key} is revoked." + (f" {plural(ended, 'job')} cancelled." if cancel_jobs else ""))


def _scopes(given: Iterable[str]) -> list[Scope]:
    from autotune.api.identity import Scope

    for each in given:
        if each not in list(Scope):
            raise UsageError(f"Unknown scope {each!r}.", f"Choose from {', '.join(Scope)}.")
    return [Scope(each) for each in given]


def checked_name(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= 100:
        raise UsageError("The name must have 1 to 100 printable characters.", "Choose another one.")
    return name


def _line(key: Key) -> tuple[str, ...]:
    until = "for good" if key.expires_at is None else _day(key.expires_at)
    ends = until if key.revoked_at is None else "revoked"
    scopes = " ".join(sorted(key.scopes))
    return key.id, key.name, key.project, scopes, _day(key.created_at), ends


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
