"""Run by Alembic: applies the migrations over the connection that it is given."""

from __future__ import annotations

from alembic import context

from autotune.api.store.migrations import VERSION_TABLE
from autotune.api.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
