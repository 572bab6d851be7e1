"""What past searches measured, kept for the next one: a file for each search in the user's cache.

Whatever is wrong with these files, a search continues without them.
"""

from __future__ import annotations

import math
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from platformdirs import user_cache_path
from pydantic import Field, ValidationError

from autotune.config import Configuration
from autotune.engine.load import NOTICEABLE, Load
from autotune.stats import Noise, squared_residuals
from autotune.trial import Trial
from autotune.value import Value

CACHE = "AUTOTUNE_CACHE"
"""Variable that names another folder; empty or `off` keeps nothing."""
SESSIONS = 10
"""Searches of one workload that are looked back at; older ones say little of today."""
PESSIMISTIC = 0.75
"""Share of the searches that were at most as noisy as is expected of the next one."""
LEAST_NOISE, MOST_NOISE = 0.02, 0.15
"""Bounds of the noise that is expected, as standard deviations of log(rate)."""
NOISE_SESSIONS = 20
"""Searches of any workload from which a machine's noise is known."""
MOST_SESSIONS = 200
"""Searches that are kept for a machine, some 4 MB; the oldest give way."""

T = TypeVar("T")


class Measured(Value):
    """One trial of a past search that showed all the speed it can."""

    configuration: Configuration
    examples_per_second: float = Field(gt=0, allow_inf_nan=False)


class Session(Value):
    """One search that has ended; absolute rates of two are not comparable, as machines drift."""

    id: str
    ended: float
    """Unix time in seconds."""
    machine: str
    """`Machine.fingerprint`, which versions of TensorFlow and Keras are part of."""
    workload: str
    """`Workload.fingerprint`."""
    load: float | None = None
    """Share of the cores that other programs took meanwhile; None where nobody looked."""
    measured: tuple[Measured, ...]

    @property
    def logs(self) -> dict[Configuration, list[float]]:
        """Return log(rate) of the runs of each configuration."""
        logs: dict[Configuration, list[float]] = defaultdict(list)
        for each in self.measured:
            logs[each.configuration].append(math.log(each.examples_per_second))
        return logs

    @property
    def noise(self) -> Noise | None:
        """Between-run noise, from repeats in this search alone; None without any."""
        squares, degrees = squared_residuals(self.logs.values())
        return Noise(sd=math.sqrt(squares / degrees), degrees=degrees) if degrees else None


class PastMeasurements:
    """Past measurements of this user, in a folder that need not exist; None keeps nothing.

    No method raises: the user is notified once.
    """

    def __init__(self, folder: Path | None, notify: Callable[[str], None] = lambda _: None) -> None:
        self._folder = folder
        self._notify = notify
        self._notified = False

    def sessions(self, machine: str, workload: str) -> list[Session]:
        """Return the searches of a workload on a machine, the newest first."""
        read = self._attempt(lambda folder: [*islice(_read(folder, machine, workload), SESSIONS)])
        return read or []

    def noise(self, machine: str) -> Noise | None:
        """Return the between-run noise of a machine that nobody else uses, or None.

        That of a session among the noisier ones, within bounds: one bad hour is not the rule.
        """
        found = self._attempt(lambda folder: [*islice(_noises(folder, machine), NOISE_SESSIONS)])
        if not found:
            return None
        sd = sorted(each.sd for each in found)[math.ceil(PESSIMISTIC * len(found)) - 1]
        bounded = min(max(sd, LEAST_NOISE), MOST_NOISE)
        return Noise(sd=bounded, degrees=sum(each.degrees for each in found))

    def add(self, session: Session) -> None:
        """Keep a search that has ended, all of it or nothing; old ones give way to it."""
        if session.measured:
            self._attempt(lambda folder: _write(folder / session.machine, session))

    def _attempt(self, work: Callable[[Path], T]) -> T | None:
        """Return what work in the folder gives; None where that is switched off or fails."""
        try:
            return work(self._folder) if self._folder else None
        except OSError as exc:
            self._explain(exc)
            return None

    def _explain(self, exc: OSError) -> None:
        if not self._notified:
            self._notified = True
            self._notify(
                f"Past measurements in {self._folder} cannot be used: {exc}. The search continues "
                f"without them; if this recurs, delete the folder or set {CACHE} to another one."
            )


def measurements_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of past measurements, or None where none is wanted; nothing is made.

    It is the one that `AUTOTUNE_CACHE` names, else `autotune` within the user's cache folder.
    """
    chosen = environment.get(CACHE)
    if chosen is not None:
        return None if chosen.lower() in ("", "off") else Path(chosen).absolute() / "searches"
    try:
        return user_cache_path("autotune") / "searches"
    except RuntimeError:  # a user without a home, as in some containers
        return None


def session_of(
    machine: str, workload: str, trials: Iterable[Trial], load: Load | None = None
) -> Session:
    """Return the record of a search that ends now."""
    return Session(
        id=uuid.uuid4().hex,
        ended=time.time(),
        machine=machine,
        workload=workload,
        load=load.share if load else None,
        measured=tuple(
            Measured(configuration=t.configuration, examples_per_second=t.examples_per_second)
            for t in trials
            if t.measured and t.examples_per_second
        ),
    )


def relative(sessions: Iterable[Session]) -> dict[Configuration, float]:
    """Return log(rate) of each configuration relative to its session's best single device.

    The mean over its runs in a session, and over sessions. A session without a measured single
    device says nothing, because its machine may have been faster or slower than at other times.
    """
    found: dict[Configuration, list[float]] = defaultdict(list)
    for session in sessions:
        means = {configuration: fmean(logs) for configuration, logs in session.logs.items()}
        alone = [mean for configuration, mean in means.items() if not configuration.distributed]
        for configuration, mean in means.items() if alone else ():
            found[configuration].append(mean - max(alone))
    return {configuration: fmean(gaps) for configuration, gaps in found.items()}


def _write(place: Path, session: Session) -> None:
    place.mkdir(parents=True, exist_ok=True)
    # Names begin with the time, by which they are sorted.
    whole = place / f"{session.ended:020.6f}-{session.workload}-{session.id}.json"
    partial = whole.with_suffix(".partial")
    partial.write_text(session.model_dump_json(), "utf-8")
    partial.replace(whole)
    for each in sorted(place.glob("*.json"), reverse=True)[MOST_SESSIONS:]:
        each.unlink(missing_ok=True)


def _read(folder: Path, machine: str, workload: str = "*") -> Iterator[Session]:
    """Yield the searches of a machine, the newest first, as they are asked for."""
    for each in sorted((folder / machine).glob(f"*-{workload}-*.json"), reverse=True):
        try:
            yield Session.model_validate_json(each.read_text("utf-8"))
        except (ValidationError, UnicodeDecodeError):  # of another version, or torn
            continue
        except FileNotFoundError:  # another search has removed it
            continue


def _noises(folder: Path, machine: str) -> Iterator[Noise]:
    for each in _read(folder, machine):
        if each.noise and (each.load or 0.0) < NOTICEABLE:
            yield each.noise
