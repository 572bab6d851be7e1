"""What workers have and jobs need, whose turn it is, drained workers, and the code of jobs.

It only adds: a process of the version before goes on with it, until it is replaced.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

NOTHING: dict[str, Any] = {}
ZERO: dict[str, Any] = {"nullable": False, "server_default": "0"}
FALSE: dict[str, Any] = {"nullable": False, "server_default": sa.false()}
COLUMNS: tuple[tuple[str, str, Any, dict[str, Any]], ...] = (
    ("jobs", "needs", sa.Text(), NOTHING),
    ("jobs", "precedence", sa.Integer(), ZERO),
    ("jobs", "code", sa.String(), NOTHING),
    ("jobs", "code_changed", sa.Boolean(), FALSE),
    ("workers", "machine", sa.Text(), NOTHING),
    ("workers", "engine", sa.String(), NOTHING),
    ("workers", "labels", sa.Text(), NOTHING),
    ("workers", "version", sa.String(), NOTHING),
    ("workers", "started_at", sa.Float(), NOTHING),
    ("workers", "draining", sa.Boolean(), FALSE),
)
INDEXES = (
    ("jobs", ("owner", "started_at")),
    ("jobs", ("state", "owner", "precedence", "seq")),
    ("jobs", ("state", "needs")),
)


def upgrade() -> None:
    """Add columns and indexes."""
    for table, name, kind, more in COLUMNS:
        op.add_column(table, sa.Column(name, kind, **more))
    for table, columns in INDEXES:
        op.create_index(_name(table, columns), table, columns)


def downgrade() -> None:
    """Take them away again."""
    for table, columns in INDEXES:
        op.drop_index(_name(table, columns), table_name=table)
    for table, name, _, _ in COLUMNS:
        op.drop_column(table, name)


def _name(table: str, columns: tuple[str, ...]) -> str:
    return op.f("ix_" + "_".join(f"{table}_{column}" for column in columns))
