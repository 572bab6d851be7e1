"""Where past measurements are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CACHE = "AUTOTUNE_CACHE"
"""Variable that names another folder; empty or `off` keeps nothing."""
FILE = "measurements.db"


def measurements_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the database of past measurements, or None where none is wanted.

    It is in the folder that `AUTOTUNE_CACHE` names, else in `autotune` within the user's cache
    folder (`XDG_CACHE_HOME`, or `~/.cache`). Nothing is made here.
    """
    chosen = environment.get(CACHE)
    if chosen is None:
        folder = _cache(environment)
        return folder and folder / "autotune" / FILE
    return None if chosen.lower() in ("", "off") else Path(chosen).absolute() / FILE


def _cache(environment: Mapping[str, str]) -> Path | None:
    # The specification says to ignore a relative path.
    stated = environment.get("XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():
        return Path(stated)
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers
        return None
