"""Writing a text file."""

from __future__ import annotations

from pathlib import Path

from autotune.errors import OutputError, in_words


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        OutputError: It cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as exc:
        raise OutputError(
            f"{path} cannot be written: {in_words(exc)}.", "Choose another path."
        ) from exc
