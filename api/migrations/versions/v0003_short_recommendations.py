"""Recommendations without their trials, to be read quickly."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_WITHOUT_TRIALS = {
    "sqlite": "json_remove(recommendation, '$.trials')",
    "postgresql": "CAST(CAST(recommendation AS JSONB) - 'trials' AS TEXT)",
}


def upgrade() -> None:
    """Add the column, and fill it for the jobs that there are."""
    op.add_column("jobs", sa.Column("short_recommendation", sa.Text(), nullable=True))
    short = _WITHOUT_TRIALS[op.get_bind().dialect.name]
    op.execute(f"UPDATE jobs SET short_recommendation = {short}")  # noqa: S608 - a constant


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("jobs", "short_recommendation")
