"""The first schema; an empty database gets the tables as they are declared (see `make`)."""

from __future__ import annotations

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Change nothing: no version came before."""
