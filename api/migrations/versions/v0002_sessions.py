"""Browsers that are signed in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name=op.f("fk_sessions_key_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("sessions")
