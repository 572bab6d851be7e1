"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "idempotency",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "key", name=op.f("pk_idempotency")),
    )
    op.create_table(
        "jobs",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("workload", sa.String(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("budget_seconds", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("devices", sa.String(), nullable=True),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("one_device", sa.Float(), nullable=True),
        sa.Column("distributed", sa.Float(), nullable=True),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("verdict", sa.String(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("study", sa.Text(), nullable=True),
        sa.Column("recommendation", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_jobs")),
        sa.UniqueConstraint("id", name=op.f("uq_jobs_id")),
    )
    op.create_index(op.f("ix_jobs_owner_jobs_seq"), "jobs", ["owner", "seq"], unique=False)
    op.create_index(op.f("ix_jobs_state_jobs_seq"), "jobs", ["state", "seq"], unique=False)
    op.create_table(
        "keys",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_keys_digest")),
    )
    op.create_table(
        "leases",
        sa.Column("devices", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("expires_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("devices", name=op.f("pk_leases")),
    )
    op.create_table(
        "attempts",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("marker", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("pid_started", sa.BigInteger(), nullable=True),
        sa.Column("claimed_at", sa.Float(), nullable=False),
        sa.Column("began_at", sa.Float(), nullable=True),
        sa.Column("seen_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("ending", sa.String(), nullable=True),
        sa.Column("swept", sa.Boolean(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("configuration", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_attempts")),
    )
    op.create_index(
        op.f("ix_attempts_host_attempts_swept"), "attempts", ["host", "swept"], unique=False
    )
    op.create_table(
        "events",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_events_job_id")),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_events")),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name=op.f("fk_sessions_key_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    op.create_table(
        "trials",
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_trials_job_id")),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_trials")),
    )


def downgrade() -> None:
    """Drop all tables."""
    op.drop_table("trials")
    op.drop_table("sessions")
    op.drop_table("events")
    op.drop_index(op.f("ix_attempts_host_attempts_swept"), table_name="attempts")
    op.drop_table("attempts")
    op.drop_table("leases")
    op.drop_table("keys")
    op.drop_index(op.f("ix_jobs_state_jobs_seq"), table_name="jobs")
    op.drop_index(op.f("ix_jobs_owner_jobs_seq"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_table("idempotency")
