"""The noise between runs that past searches have shown on a machine, kept for the next one.

There is a file for each machine in the user's cache. Whatever is wrong with it, a search continues
without it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from platformdirs import user_cache_path
from pydantic import ValidationError

from autotune.engine.load import NOTICEABLE, Load
from autotune.stats import EXPECTED, Noise, squared_residuals
from autotune.value import Value

CACHE = "AUTOTUNE_CACHE"
"""Variable that names another folder; empty or `off` keeps nothing."""
SEARCHES = 20
"""The latest searches of a machine, by which its noise is known."""


class Kept(Value):
    """What is kept of a machine."""

    noises: tuple[Noise, ...] = ()
    """Of searches that repeated something, oldest first."""


class PastNoise:
    """What past searches of this user have shown; a folder of None keeps nothing.

    No method raises: the user is notified once.
    """

    def __init__(self, folder: Path | None, notify: Callable[[str], None] = lambda _: None) -> None:
        self._folder = folder
        self._notify = notify
        self._notified = False

    def of(self, machine: str) -> Noise | None:
        """Return the noise that is expected of a machine; None where none is known.

        The mean variance of its searches, drawn towards that of a machine that nobody knows.
        """
        found = self._read(machine)
        if not found:
            return None
        every = (EXPECTED, *found)
        degrees = sum(each.degrees for each in every)
        squares = sum(each.degrees * each.sd**2 for each in every)
        return Noise(sd=math.sqrt(squares / degrees), degrees=degrees)

    def add(self, machine: str, noise: Noise | None) -> None:
        """Keep what a search has shown, if it has; the oldest search gives way to it."""
        if self._folder is None or noise is None:
            return
        kept = Kept(noises=(*self._read(machine), noise)[-SEARCHES:])
        partial = self._folder / f"{machine}.{os.getpid()}.partial"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            partial.write_text(kept.model_dump_json(), "utf-8")
            partial.replace(self._folder / f"{machine}.json")
        except OSError as exc:
            self._explain(exc)

    def _read(self, machine: str) -> tuple[Noise, ...]:
        if self._folder is None:
            return ()
        try:
            text = (self._folder / f"{machine}.json").read_text("utf-8")
            return Kept.model_validate_json(text).noises
        except (FileNotFoundError, ValidationError, UnicodeDecodeError):
            return ()  # nothing yet, of another version, or torn
        except OSError as exc:
            self._explain(exc)
            return ()

    def _explain(self, exc: OSError) -> None:
        if not self._notified:
            self._notified = True
            self._notify(
                f"The noise of past searches in {self._folder} cannot be used: {exc}. The search "
                f"continues without it; if this recurs, delete the folder or set {CACHE} to "
                "another one."
            )


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of past noise, or None where none is wanted; nothing is made.

    It is in the one that `AUTOTUNE_CACHE` names, else in `autotune` within the user's cache folder.
    """
    chosen = environment.get(CACHE)
    if chosen is not None:
        return None if chosen.lower() in ("", "off") else Path(chosen).absolute() / "noise"
    try:
        return user_cache_path("autotune") / "noise"
    except RuntimeError:  # a user without a home, as in some containers
        return None


def shown_noise(groups: Iterable[Sequence[float]], load: Load | None = None) -> Noise | None:
    """Return the noise between repeats in a search; None without any, or beside other programs.

    A group holds log(score) of the runs of a configuration.
    """
    squares, degrees = squared_residuals(groups)
    if not degrees or (load is not None and load.share >= NOTICEABLE):
        return None
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees)
