"""How much memory a trial holds, and how much it may."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

SHARE = 0.8
"""Of what is free at a trial's start: the rest keeps the machine and the tuner alive."""
EVERY = 0.2
"""Seconds between two samples. Memory fills at a few GB per second."""
_FAMILY_EVERY = 1.0
_FAMILY_SHARE = 0.005
"""Most of one core that looking for new processes may take. It reads all of /proc."""


def available(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the free bytes of the machine, or of the container if that has less."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (groups / "memory.max").read_text(encoding="ascii").strip()
        used = int((groups / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - used))


def kernel_kills(statistics: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the kernel has killed for want of memory since it started."""
    with suppress(OSError):
        for line in statistics.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    return 0


class MemoryGauge:
    """Samples the memory of all processes that descend from a fork server, orphans too."""

    def __init__(self, ancestor: int, limit: int | None) -> None:
        self._ancestor = ancestor
        most = int(SHARE * available())
        self.most = min(limit or most, most)
        self._family: Sequence[psutil.Process] = ()
        self._next_sample = 0.0
        self._next_family = 0.0
        self.peak = 0
        """Largest sum so far, as if each had loaded its libraries by itself."""

    def exceeded(self) -> bool:
        """Take a sample if it is time, and return whether the processes hold too much."""
        if time.monotonic() < self._next_sample:
            return False
        self._next_sample = time.monotonic() + EVERY
        self._refresh_family()
        held = self._each(lambda process: process.memory_info())
        # What each would hold if nobody had loaded its libraries before.
        alone = (each.rss + max(self._libraries - each.shared, 0) for each in held)
        self.peak = max(self.peak, sum(alone))
        # Pages shared with the fork server count once per process in `resident`. What is exact is
        # slow, and stops the process while it is read, so it is asked only when it decides.
        if sum(each.rss for each in held) <= self.most:
            return False
        exact = self._each(lambda process: process.memory_full_info())
        return bool(sum(each.pss for each in exact) > self.most)

    @cached_property
    def _libraries(self) -> int:
        with suppress(psutil.Error):
            return int(psutil.Process(self._ancestor).memory_info().shared)
        return 0

    def _refresh_family(self) -> None:
        begun = time.monotonic()
        if begun >= self._next_family:
            self._family = ()
            with suppress(psutil.Error):
                self._family = psutil.Process(self._ancestor).children(recursive=True)
            ended = time.monotonic()
            self._next_family = ended + max(_FAMILY_EVERY, (ended - begun) / _FAMILY_SHARE)

    def _each(self, measure: Callable[[psutil.Process], Any]) -> list[Any]:
        found = []
        for each in self._family:
            with suppress(psutil.Error):  # It has ended.
                found.append(measure(each))
        return found
