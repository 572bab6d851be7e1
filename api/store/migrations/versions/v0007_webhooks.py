"""Webhooks and what they are told, and the traces of jobs.

It only adds: a process of the version before goes on with it, until it is replaced. Of the jobs
that end by it no webhook is told.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add tables and a column."""
    op.add_column("jobs", sa.Column("trace", sa.String()))
    _make_webhooks()
    _make_deliveries()


def _make_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project", sa.String(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("old_secret", sa.String()),
        sa.Column("old_until", sa.Float()),
        sa.Column("created_by", sa.String()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("tried_at", sa.Float(), nullable=False),
        sa.Column("held_until", sa.Float()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_project"), "webhooks", ["project"])


def _make_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("webhook_id", sa.String(), nullable=False),
        sa.Column("job_id", sa.String()),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("error", sa.String()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("tried_at", sa.Float()),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("id", name=op.f("uq_deliveries_id")),
    )
    for columns in (("webhook_id", "state", "seq"), ("state", "due_at")):
        name = "ix_" + "_".join(f"deliveries_{each}" for each in columns)
        op.create_index(op.f(name), "deliveries", columns)


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("deliveries")
    op.drop_table("webhooks")
    op.drop_column("jobs", "trace")
