"""What a search may use of the host beside its engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autotune.past.place import measurements_file
from autotune.run.load import Look, look, unseen


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host of a search; by default one that keeps nothing and cannot be looked at."""

    measurements: Path | None = None
    """Database of past measurements."""
    look: Callable[[], Look] = unseen
    """Reads how busy the cores are."""


NO_HOST = Host()


def this_host() -> Host:
    """Return the host that this process runs on, with the user's own past measurements."""
    return Host(measurements=measurements_file(), look=look)
