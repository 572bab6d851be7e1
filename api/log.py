"""Log lines: a sentence for people, fields for machines."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

logger = logging.getLogger("autotune.service")
Field = str | float | None
_known: ContextVar[Mapping[str, str]] = ContextVar("known", default=MappingProxyType({}))


@contextmanager
def about(**fields: str) -> Iterator[None]:
    """Add fields to all that is said within: which request it is, and whose."""
    token = _known.set({**_known.get(), **fields})
    try:
        yield
    finally:
        _known.reset(token)


def known() -> Mapping[str, str]:
    """Return the fields of all that is said here."""
    return _known.get()


def say(sentence: str, level: int = logging.INFO, **fields: Field) -> None:
    """Log a sentence with its fields, which a JSON formatter finds in `record.fields`."""
    told = {**_known.get(), **fields}
    shown = " ".join(f"{name}={value}" for name, value in told.items() if value is not None)
    logger.log(level, "%s [%s]", sentence, shown, extra={"fields": told})
