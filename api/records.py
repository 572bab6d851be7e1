"""What is kept as JSON; a record that cannot be read spoils nothing but its own job."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from autotune.api.errors import UnreadableRecord

Model = TypeVar("Model", bound=BaseModel)
Kept = TypeVar("Kept")
UNREADABLE = "The record of this is damaged and cannot be read."


def read(model: type[Model], record: str | bytes) -> Model:
    return read_as(TypeAdapter(model), record)


def read_as(kind: TypeAdapter[Kept], record: str | bytes) -> Kept:
    """Return the value of a record, which may be one of several models."""
    try:
        return kind.validate_json(record, extra="ignore")
    except Exception as exc:  # A validator may fail in any way at what it was not made for.
        raise UnreadableRecord(UNREADABLE, "Ask the operator.") from exc
