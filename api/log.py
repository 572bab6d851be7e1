"""Log lines: a sentence for people, fields for machines."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

logger = logging.getLogger("autotune.service")
Field = str | float | None
LogStyle = Literal["text", "json"]
_known: ContextVar[Mapping[str, str]] = ContextVar("known", default=MappingProxyType({}))


@contextmanager
def about(**fields: str) -> Iterator[None]:
    """Add fields to all log lines within: which request it is, and whose."""
    token = _known.set({**_known.get(), **fields})
    try:
        yield
    finally:
        _known.reset(token)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        shown = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "message": getattr(record, "sentence", None) or record.getMessage(),
            **{name: each for name, each in fields.items() if each is not None},
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown)


def write_log(style: LogStyle) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(_Json() if style == "json" else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def log(sentence: str, level: int = logging.INFO, **fields: Field) -> None:
    """Log a sentence with its fields, which are in `record.fields`."""
    all_fields = {**_known.get(), **fields}
    shown = " ".join(f"{name}={value}" for name, value in all_fields.items() if value is not None)
    extra = {"sentence": sentence, "fields": all_fields}
    logger.log(level, "%s [%s]", sentence, shown, extra=extra)


def note(action: str, target: str, **fields: Field) -> None:
    """Log a change; the key and the address are those of the request at hand."""
    log("A change was made.", logging.INFO, action=action, target=target, **fields)
