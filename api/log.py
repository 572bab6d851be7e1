"""Log lines: a sentence for people, fields for machines."""

from __future__ import annotations

import logging

logger = logging.getLogger("autotune.service")


def say(sentence: str, level: int = logging.INFO, **fields: str | float | None) -> None:
    """Log a sentence with its fields, which a JSON formatter finds in `record.fields`."""
    shown = " ".join(f"{name}={value}" for name, value in fields.items())
    logger.log(level, "%s [%s]", sentence, shown, extra={"fields": fields})
