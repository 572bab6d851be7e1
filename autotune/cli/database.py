"""The database of a service, for the commands that change it directly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autotune.api.settings import Settings
    from autotune.api.store.database import Database


@contextmanager
def service_database(settings: Path | None) -> Iterator[Database]:
    """Give the database of a service; whoever changes something is noted by their account.

    Raises:
        SettingsError: There is no service, or its database is of another version.
    """
    from autotune.api.log import about
    from autotune.api.settings import load_settings

    database = _existing(load_settings(settings))
    try:
        with about(key=f"account {account()}", client="command line"):
            yield database
    finally:
        database.close()


def _existing(settings: Settings) -> Database:
    """Return the database as it is: nothing is made here, and no table is changed."""
    from autotune.api.errors import OtherSchema, SettingsError
    from autotune.api.store.database import Database
    from autotune.api.store.migrations import check_schema

    database = Database(settings.database_url)
    if not _is_there(settings.database_url):
        raise SettingsError(
            f"There is no service in {settings.data.absolute()}.",
            "Start `autotune serve` once, run this in the service's folder, or pass its "
            "--settings.",
        )
    try:
        check_schema(database)
    except OtherSchema as exc:
        raise SettingsError(exc.cause, exc.next_step) from exc
    return database


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
