"""Workers that are seen, keys of projects, an audit trail, trials kept once, and indexes.

It only adds: a process of the version before goes on with it, until it is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COLUMNS = (
    ("jobs", "created_by", sa.String()),
    ("events", "trial", sa.Integer()),
    ("leases", "machine", sa.Text()),
    ("keys", "project", sa.String()),
)
INDEXES = (
    ("jobs", ("owner", "state", "seq")),
    ("jobs", ("owner", "ended_at")),
    ("jobs", ("ended_at",)),
    ("sessions", ("expires_at",)),
    ("idempotency", ("job_id",)),
)


def upgrade() -> None:
    """Add tables, columns and indexes."""
    op.create_table(
        "workers",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("devices", sa.String(), nullable=False),
        sa.Column("workloads", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workers")),
    )
    op.create_table(
        "audit",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("client", sa.String()),
        sa.Column("request", sa.String()),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit")),
    )
    op.create_table(
        "totals",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_totals")),
    )
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind))
    for table, columns in INDEXES:
        op.create_index(_name(table, columns), table, columns)


def downgrade() -> None:
    """Take them away again."""
    for table, columns in INDEXES:
        op.drop_index(_name(table, columns), table_name=table)
    for table, name, _ in COLUMNS:
        op.drop_column(table, name)
    for table in ("workers", "audit", "totals"):
        op.drop_table(table)


def _name(table: str, columns: tuple[str, ...]) -> str:
    return op.f("ix_" + "_".join(f"{table}_{column}" for column in columns))
