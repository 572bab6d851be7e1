"""All tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "idempotency",
        sa.Column("project", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("fingerprint", sa.String, nullable=False),
        sa.Column("job_id", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("project", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_job_id", "idempotency", ["job_id"])
    op.create_table(
        "jobs",
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("created_by", sa.String, nullable=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("workload", sa.String, nullable=False),
        sa.Column("budget_seconds", sa.Float, nullable=False),
        sa.Column("needs", sa.Text, nullable=True),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("devices", sa.String, nullable=True),
        sa.Column("expires_at", sa.Float, nullable=True),
        sa.Column("events", sa.Integer, nullable=False),
        sa.Column("trials", sa.Integer, nullable=False),
        sa.Column("one_device", sa.Float, nullable=True),
        sa.Column("distributed", sa.Float, nullable=True),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("started_at", sa.Float, nullable=True),
        sa.Column("ended_at", sa.Float, nullable=True),
        sa.Column("verdict", sa.String, nullable=True),
        sa.Column("summary", sa.Text, nullable=True),
        sa.Column("reason", sa.Text, nullable=True),
        sa.Column("code", sa.String, nullable=True),
        sa.Column("code_changed", sa.Boolean, nullable=False),
        sa.Column("study", sa.Text, nullable=True),
        sa.Column("recommendation", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("seq", name="pk_jobs"),
        sa.UniqueConstraint("id", name="uq_jobs_id"),
    )
    op.create_index("ix_jobs_ended_at", "jobs", ["ended_at"])
    op.create_index("ix_jobs_project_jobs_ended_at", "jobs", ["project", "ended_at"])
    op.create_index("ix_jobs_project_jobs_seq", "jobs", ["project", "seq"])
    op.create_index("ix_jobs_project_jobs_started_at", "jobs", ["project", "started_at"])
    op.create_index("ix_jobs_project_jobs_state_jobs_seq", "jobs", ["project", "state", "seq"])
    op.create_index("ix_jobs_state_jobs_seq", "jobs", ["state", "seq"])
    op.create_table(
        "keys",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("scopes", sa.String, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=True),
        sa.Column("revoked_at", sa.Float, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("digest", name="uq_keys_digest"),
    )
    op.create_table(
        "leases",
        sa.Column("devices", sa.String, nullable=False),
        sa.Column("job_id", sa.String, nullable=True),
        sa.Column("attempt", sa.Integer, nullable=True),
        sa.Column("worker", sa.String, nullable=True),
        sa.Column("expires_at", sa.Float, nullable=True),
        sa.Column("machine", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("devices", name="pk_leases"),
    )
    op.create_table(
        "totals",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_totals"),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("devices", sa.String, nullable=False),
        sa.Column("workloads", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=True),
        sa.Column("engine", sa.String, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.Column("draining", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_table(
        "attempts",
        sa.Column("job_id", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("worker", sa.String, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("marker", sa.String, nullable=False),
        sa.Column("pid", sa.Integer, nullable=True),
        sa.Column("pid_started", sa.BigInteger, nullable=True),
        sa.Column("claimed_at", sa.Float, nullable=False),
        sa.Column("began_at", sa.Float, nullable=True),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float, nullable=True),
        sa.Column("ending", sa.String, nullable=True),
        sa.Column("swept", sa.Boolean, nullable=False),
        sa.Column("messages", sa.Integer, nullable=False),
        sa.Column("configuration", sa.Text, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_attempts_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_attempts"),
    )
    op.create_index("ix_attempts_host_attempts_swept", "attempts", ["host", "swept"])
    op.create_table(
        "events",
        sa.Column("job_id", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("trial", sa.Integer, nullable=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_events_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_events"),
    )
    op.create_table(
        "labels",
        sa.Column("project", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["jobs.seq"], name="fk_labels_seq", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "label", "seq", name="pk_labels"),
    )
    op.create_index("ix_labels_seq", "labels", ["seq"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("key_id", sa.String, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_sessions_key_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    op.create_index("ix_sessions_expires_at", "sessions", ["expires_at"])
    op.create_table(
        "trials",
        sa.Column("job_id", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_trials_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_trials"),
    )
