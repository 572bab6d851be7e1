"""What is kept as JSON: written with the number of its form, and read with leniency.

A service is rolled back, and in an upgrade two versions share a database. What another version has
added is left out; what it has written in another way is unreadable, which is no fault of whoever
asks, and no reason to stop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from autotune.api.errors import UnreadableRecord

FORM = 1
"""Raised by a version whose records an earlier one would misunderstand."""
OTHER_VERSION = "This was written by another version of autotune and cannot be read by this one."
_HEAD = f'{{"schema_version":{FORM},'
_WRITTEN = re.compile(r'\{"schema_version":\s*(\d{1,9}),')
Model = TypeVar("Model", bound=BaseModel)
Kept = TypeVar("Kept")


def written(value: BaseModel, **options: Any) -> str:
    """Return the record of a value; options are those of pydantic's own writing."""
    return _HEAD + value.model_dump_json(**options).removeprefix("{")


def read(model: type[Model], record: str) -> Model:
    """Return the value of a record.

    Raises:
        UnreadableRecord: Another version has written it in a way that this one cannot read.
    """
    return _read(model.model_validate_json, record)


def read_as(kind: TypeAdapter[Kept], record: str) -> Kept:
    """Return the value of a record, which is one of several models.

    Raises:
        UnreadableRecord: Another version has written it in a way that this one cannot read.
    """
    return _read(kind.validate_json, record)


def _read(validate: Callable[..., Kept], record: str) -> Kept:
    found = _WRITTEN.match(record)
    if found and int(found[1]) > FORM:
        raise unreadable()
    try:
        return validate(record, extra="ignore")
    except Exception as exc:  # A validator may fail in any way at what it was not made for.
        raise unreadable() from exc


def unreadable() -> UnreadableRecord:
    """Return the error of a record that another version has written."""
    return UnreadableRecord(OTHER_VERSION, "Ask the operator which version wrote it.")
