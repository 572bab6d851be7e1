"""The first schema: all tables as they are declared, until the first release fixes them."""

from __future__ import annotations

from alembic import op

from autotune.api.store.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop all tables."""
    metadata.drop_all(op.get_bind())
