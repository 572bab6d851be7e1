"""Labels of jobs.

It only adds: a process of the version before goes on with it, until it is replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "labels",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_labels_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "label", name=op.f("pk_labels")),
    )
    for columns in (["label", "seq"], ["owner", "label", "seq"]):
        name = "_".join(f"labels_{each}" for each in columns)
        op.create_index(op.f(f"ix_{name}"), "labels", columns)


def downgrade() -> None:
    """Take it away again."""
    op.drop_table("labels")
