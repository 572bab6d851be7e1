"""Lists of the jobs of a workload, or of some time.

It only adds: a process of the version before goes on with it, until it is replaced.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

INDEXES = {
    "ix_jobs_workload_jobs_seq": ["workload", "seq"],
    "ix_jobs_created_at": ["created_at"],
}


def upgrade() -> None:
    """Add indexes."""
    for name, columns in INDEXES.items():
        op.create_index(op.f(name), "jobs", columns)


def downgrade() -> None:
    """Take them away again."""
    for name in INDEXES:
        op.drop_index(op.f(name), table_name="jobs")
