"""Brings the schema up to date; every process does so when it starts."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config

from autotune.api.store.database import Database, lock_schema

VERSION_TABLE = "autotune_version"
"""Not Alembic's usual name: Optuna's tables may be in the same database and use that."""


def migrate(database: Database) -> None:
    """Make the tables, or change them to what this version needs.

    Raises:
        DatabaseUnavailable: The database does not answer.
    """
    config = Config()
    # The option goes through an interpolation.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with database.writing() as connection:
        lock_schema(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
