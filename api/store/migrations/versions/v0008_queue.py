"""The queue by kinds of jobs, so that nobody walks all that wait.

It only adds, and takes away indexes that the version before could use: a process of it goes on,
until it is replaced. PostgreSQL writes the rows of jobs anew for the column.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

KIND = (
    "CAST(length(workload) AS TEXT) || ' ' || workload || coalesce(CAST(length(devices) AS TEXT)"
    " || ' ' || devices, '-') || coalesce(needs, '-')"
)
QUEUED = "state = 'queued'"
INDEXES = {
    "ix_jobs_told": (["kind"], f"{QUEUED} AND reason IS NOT NULL"),
    "ix_jobs_untold": (["kind"], f"{QUEUED} AND reason IS NULL"),
}
REPLACED = {
    "ix_jobs_state_jobs_owner_jobs_precedence_jobs_seq": ["state", "owner", "precedence", "seq"],
    "ix_jobs_state_jobs_needs": ["state", "needs"],
}
ADDED = {
    "ix_jobs_state_jobs_kind_jobs_owner_jobs_precedence_jobs_seq": (
        ["state", "kind", "owner", "precedence", "seq"]
    ),
    "ix_jobs_owner_jobs_state_jobs_budget_seconds": ["owner", "state", "budget_seconds"],
}


def upgrade() -> None:
    """Add a column and its indexes."""
    # An index needs it stored in PostgreSQL; SQLite adds no column that is.
    stored = op.get_bind().dialect.name == "postgresql" or None
    op.add_column("jobs", sa.Column("kind", sa.Text(), sa.Computed(KIND, persisted=stored)))
    for name, (columns, condition) in INDEXES.items():
        where = sa.text(condition)
        op.create_index(op.f(name), "jobs", columns, sqlite_where=where, postgresql_where=where)
    for name, columns in ADDED.items():
        op.create_index(op.f(name), "jobs", columns)
    for name in REPLACED:
        op.drop_index(op.f(name), table_name="jobs")


def downgrade() -> None:
    """Take them away again."""
    for name, columns in REPLACED.items():
        op.create_index(op.f(name), "jobs", columns)
    for name in (*INDEXES, *ADDED):
        op.drop_index(op.f(name), table_name="jobs")
    op.drop_column("jobs", "kind")
