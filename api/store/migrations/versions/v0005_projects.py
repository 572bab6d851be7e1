"""Members of projects, and the sessions of people.

It only adds: a process of the version before goes on with it, until it is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add tables."""
    op.create_table(
        "members",
        sa.Column("member", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("member", "project", name=op.f("pk_members")),
    )
    op.create_index(op.f("ix_members_project"), "members", ["project"])
    op.create_table(
        "person_sessions",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_person_sessions")),
        sa.UniqueConstraint("state", name=op.f("uq_person_sessions_state")),
    )
    for column in ("expires_at", "person"):
        op.create_index(op.f(f"ix_person_sessions_{column}"), "person_sessions", [column])


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("person_sessions")
    op.drop_table("members")
