"""An index of the jobs that a worker holds, so that a claim walks no others.

It only adds: a process of the version before goes on, until it is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

HELD = sa.text("state IN ('cancelling', 'running')")


def upgrade() -> None:
    """Add the index."""
    name = op.f("ix_jobs_held")
    op.create_index(name, "jobs", ["expires_at"], sqlite_where=HELD, postgresql_where=HELD)


def downgrade() -> None:
    """Take it away again."""
    op.drop_index(op.f("ix_jobs_held"), table_name="jobs")
