"""`autotune database`, `keys` and `workers`: what is done to the database of a service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.console import log, show, table, write_out
from autotune.cli.options import Json, SettingsFile
from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.api.identity import Scope
    from autotune.api.store.auth import Key
    from autotune.api.store.database import Database

keys_app = typer.Typer(
    help="Create, list and revoke API keys of the service.", no_args_is_help=True
)
workers_app = typer.Typer(help="List and drain the workers of the service.", no_args_is_help=True)
DAY_SECONDS = 86400.0
KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of the key.", show_default=False)]
WorkerName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the worker.", show_default=False)
]


def database(
    *,
    migrate: Annotated[
        bool,
        typer.Option("--migrate", help="Bring it up to date; no part of the service may run."),
    ] = False,
    settings: SettingsFile = None,
) -> None:
    """Tell whether the service's database is of this version, and what to do if it is not."""
    with closing(_unchanged(settings)) as found:
        from autotune.api.store import tables
        from autotune.api.store.jobs import opening_error
        from autotune.wire.errors import DatabaseUnavailable, OtherSchema

        try:
            if not migrate:
                return write_out(f"{tables.advice(found)}\n")
            tables.migrate(found)
        except OtherSchema:
            raise
        except DatabaseUnavailable as exc:
            raise opening_error(exc) from exc
    return log("The database is up to date; start the service.")


@keys_app.command()
def create(
    *,
    name: Annotated[
        str, typer.Argument(help="Name of the key, such as its owner.", show_default=False)
    ],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="read, write, code (to upload) or admin (priority); repeatable. "
            "[default: read and write]",
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
    json: Json = False,
) -> None:
    """Create a key and print it; it is shown only once."""
    scopes, whose = _scopes(scope or ("read", "write")), checked_name(project or name)
    with service_database(settings) as database:
        from autotune.api.store.auth import Keyring

        seconds = days and days * DAY_SECONDS
        made = Keyring(database).hand_out(checked_name(name), scopes, whose, seconds)
    log(f"Key {made.key.id} for {made.key.name}, shown only once:")
    write_out(
        _as_json({**made.key.model_dump(), "secret": made.secret}) if json else f"{made.secret}\n"
    )


@keys_app.command("list")
def list_keys(*, settings: SettingsFile = None, json: Json = False) -> None:
    """List all keys, including revoked and expired ones."""
    with service_database(settings) as database:
        from autotune.api.store.auth import Keyring

        found = Keyring(database).all()
    heads = ("id", "name", "project", "scopes", "made", "until")
    write_out(_as_json(found)) if json else show(table(heads, map(_line, found)))


@keys_app.command()
def revoke(*, key: KeyId, settings: SettingsFile = None) -> None:
    """Revoke a key at once. Its jobs go on; another key of its project can cancel them."""
    with service_database(settings) as database:
        from autotune.api.store.auth import Keyring

        Keyring(database).revoke(key)
    log(f"Key {key} is revoked. Its jobs go on; another key of its project can cancel them.")


@workers_app.command("list")
def list_workers(*, settings: SettingsFile = None, json: Json = False) -> None:
    """List the workers that are there."""
    with service_database(settings) as database, database.reading() as connection:
        from autotune.api.store.workers import there

        found = there(connection)
    heads = ("name", "does", "machine", "labels", "workloads")
    lines = (
        (w.name, w.doing, str(w.machine or ""), " ".join(w.labels), " ".join(w.workloads))
        for w in found
    )
    write_out(_as_json(found)) if json else show(table(heads, lines))


@workers_app.command()
def drain(*, name: WorkerName, settings: SettingsFile = None) -> None:
    """Have a worker end the job that it runs and take no other; it can be stopped then."""
    with service_database(settings) as database:
        from autotune.api.store import workers

        found = workers.drain(database, name)
    left = f" It ends job {found.job} first." if found.job else ""
    log(f"Worker {name} takes no further job.{left}")


@workers_app.command()
def resume(*, name: WorkerName, settings: SettingsFile = None) -> None:
    """Have a worker that is drained take jobs again."""
    with service_database(settings) as database:
        from autotune.api.store import workers

        workers.drain(database, name, draining=False)
    log(f"Worker {name} takes jobs again.")


@contextmanager
def service_database(settings: Path | None) -> Iterator[Database]:
    """Give the database of a service.

    Once it is given the packages of the service are known to be there, and may be imported.
    """
    with closing(_unchanged(settings)) as database:
        import psutil

        from autotune.api.log import about
        from autotune.api.store.tables import check_schema
        from autotune.wire.errors import OtherSchema, SettingsError

        try:
            check_schema(database)
        except OtherSchema as exc:
            raise SettingsError(exc.cause, exc.next_step) from exc
        # In a container an account may have no name: then it is its number.
        account = psutil.Process().username()
        with about(key=f"account {account}", client="command line"):
            yield database


def _unchanged(settings: Path | None) -> Database:
    """Return the database that there is; nothing is made here."""
    from autotune.versions import check_service

    check_service()
    from sqlalchemy import make_url

    from autotune.api.settings import load_settings
    from autotune.api.store.database import Database
    from autotune.wire.errors import SettingsError

    given = load_settings(settings)
    url = make_url(given.database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise SettingsError(
            f"There is no service in {given.data.absolute()}.",
            "Start `autotune serve` once, run this in the service's folder, or pass its "
            "--settings.",
        )
    return Database(given.database_url)


def _as_json(found: object) -> str:
    from pydantic_core import to_json

    return to_json(found, indent=2).decode() + "\n"


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
