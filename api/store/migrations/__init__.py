"""Brings the schema up to date; every process does so when it starts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from autotune.api.store.database import Database, lock_schema

VERSION_TABLE = "autotune_version"
"""Not Alembic's usual name: Optuna's tables may be in the same database and use that."""


def migrate(database: Database) -> None:
    """Make the tables, or change them to what this version needs.

    Raises:
        DatabaseUnavailable: The database does not answer.
    """
    config = _config()
    with database.writing() as connection:
        lock_schema(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def is_current(database: Database) -> bool:
    """Return whether the schema is the one that this version needs.

    Raises:
        DatabaseUnavailable: The database does not answer.
    """
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return context.get_current_revision() == _newest()


@cache
def _newest() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    # The option goes through an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
