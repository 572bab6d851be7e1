"""The database of a service: `autotune database`, and what other commands need of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.console import log, write_out
from autotune.cli.options import SettingsFile
from autotune.installed import check_service

if TYPE_CHECKING:
    from autotune.api.settings import Settings
    from autotune.api.store.database import Database


def database(
    *,
    migrate: Annotated[
        bool,
        typer.Option("--migrate", help="Bring it up to date; no part of the service may run."),
    ] = False,
    settings: SettingsFile = None,
) -> None:
    """Tell whether the service's database is of this version, and what to do if it is not."""
    check_service()
    from autotune.api.settings import load_settings
    from autotune.api.store import migrations

    found = _there(load_settings(settings))
    try:
        if migrate:
            migrations.migrate(found)
            log("The database is up to date; start the service.")
        else:
            write_out(f"{migrations.advice(found)}\n")
    finally:
        found.close()


@contextmanager
def service_database(settings: Path | None) -> Iterator[Database]:
    """Give the database of a service; whoever changes something is noted by their account."""
    check_service()
    from autotune.api.log import about
    from autotune.api.settings import load_settings

    database = _there(load_settings(settings))
    try:
        _check(database)
        with about(key=f"account {account()}", client="command line"):
            yield database
    finally:
        database.close()


def _there(settings: Settings) -> Database:
    """Return the database unchanged: nothing is made here."""
    from autotune.api.errors import SettingsError
    from autotune.api.store.database import Database

    if not _is_there(settings.database_url):
        raise SettingsError(
            f"There is no service in {settings.data.absolute()}.",
            "Start `autotune serve` once, run this in the service's folder, or pass its "
            "--settings.",
        )
    return Database(settings.database_url)


def _check(database: Database) -> None:
    from autotune.api.errors import OtherSchema, SettingsError
    from autotune.api.store.migrations import check_schema

    try:
        check_schema(database)
    except OtherSchema as exc:
        raise SettingsError(exc.cause, exc.next_step) from exc


def _is_there(url: str) -> bool:
    from sqlalchemy import make_url

    found = make_url(url)
    return found.get_backend_name() != "sqlite" or Path(found.database or "").is_file()


def account() -> str:
    """Return the name of the account, or its number: in a container it may have no name."""
    try:
        return getuser()
    except (KeyError, OSError):
        return str(os.getuid())
