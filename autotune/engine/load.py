"""What programs take of a host: other ones of its cores, and those of a trial of its memory.

Two readings of the kernel's counters, and the difference between them, tell what others take of the
cores, so that it costs a few milliseconds between trials, and nothing while one runs.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from autotune.text import plural

NOTICEABLE = 0.1
"""Share of the cores that others must take before it is worth a word."""
SHORTEST_SECONDS = 0.5
"""Over less time the kernel's ticks, of 10 ms or less, say too little."""
_NAMEABLE = 0.05
"""Cores that a program must have kept busy to be named."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """The counters of the cores that this process may use, in seconds of processor time."""

    at: float
    """The monotonic clock."""
    cores: int
    busy: float
    """Used by all programs and by the kernel for them. Interrupts belong to no program."""
    stolen: float
    """Withheld by the hypervisor while there was something to run."""
    own: float
    """Used by this process and all that descend from it, ended ones included."""
    others: Mapping[str, float]
    """Used by each program that does not descend from this process: `python (pid 77)`."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """The use of the cores by others between two looks."""

    seconds: float
    cores: int
    busy: float
    """Mean number of cores that other programs kept busy."""
    stolen: float
    """Mean number of cores that the hypervisor withheld."""
    busiest: str | None = None
    """The program that used most of it: `python (pid 77)`."""

    @property
    def share(self) -> float:
        """Share of the cores that others took."""
        return (self.busy + self.stolen) / self.cores

    @property
    def noticeable(self) -> bool:
        """Whether it can have disturbed timings."""
        return self.seconds >= SHORTEST_SECONDS and self.share >= NOTICEABLE


def read_counters() -> Counters:
    """Return the counters as they are now; zeros where the kernel does not tell."""
    cores = os.sched_getaffinity(0)
    try:
        times = [each for core, each in enumerate(psutil.cpu_times(percpu=True)) if core in cores]
    except OSError:
        times = []
    own, others = _divided()
    return Counters(
        at=time.monotonic(),
        cores=len(cores),
        busy=sum(each.user + each.nice + each.system for each in times),
        stolen=sum(each.steal for each in times),
        own=own,
        others=others,
    )


def between(first: Counters, last: Counters) -> Load:
    seconds = max(last.at - first.at, 1e-9)
    # Ticks are coarser than what processes are charged, so a little less than nothing is nothing.
    busy = max((last.busy - first.busy) - (last.own - first.own), 0.0)
    used = {name: each - first.others.get(name, 0.0) for name, each in last.others.items()}
    busiest = max(used, key=lambda name: used[name], default="")
    return Load(
        seconds=seconds,
        cores=last.cores,
        busy=busy / seconds,
        stolen=max(last.stolen - first.stolen, 0.0) / seconds,
        busiest=busiest if used.get(busiest, 0.0) >= _NAMEABLE * seconds else None,
    )


def together(loads: Sequence[Load]) -> Load | None:
    """Return what others took over some spans of time; None of none."""
    seconds = sum(each.seconds for each in loads)
    if not seconds:
        return None
    most = max(loads, key=lambda each: each.busy * each.seconds)
    return Load(
        seconds=seconds,
        cores=most.cores,
        busy=sum(each.busy * each.seconds for each in loads) / seconds,
        stolen=sum(each.stolen * each.seconds for each in loads) / seconds,
        busiest=most.busiest,
    )


def warning(load: Load | None) -> str | None:
    """Return what to say of it before a search, or None if it is not worth a word."""
    taken = _taken(load, "use", "withholds")
    return taken and (
        f"{taken[:1].upper()}{taken[1:]}: timings will be noisier. Wait until it is quiet, or plan "
        "twice the time."
    )


def remark(load: Load | None) -> str | None:
    """Return what to say of it after a search, or None if it is not worth a word."""
    taken = _taken(load, "used", "withheld")
    return taken and (
        f"During the search, on average, {taken}; this made timings noisier, and what is best on a "
        "machine this busy may not be best on a quiet one: if that is where you will train, search "
        "again there."
    )


def _taken(load: Load | None, use: str, withhold: str) -> str | None:
    """Return a clause on what can have disturbed timings; None where nothing can."""
    if load is None or not load.noticeable:
        return None
    parts = []
    cores = plural(load.cores, "core")
    if load.busy >= _NAMEABLE:
        most = f", mostly {load.busiest}" if load.busiest else ""
        parts.append(f"other programs {use} {load.busy:.1f} of {cores}{most}")
    if load.stolen >= _NAMEABLE:
        parts.append(f"the hypervisor {withhold} {load.stolen:.1f} of {cores}")
    return ", and ".join(parts)


def _divided() -> tuple[float, dict[str, float]]:
    """Return the processor time of this process's family, and of each process outside it."""
    family = {os.getpid(), *(each.pid for each in psutil.Process().children(recursive=True))}
    own, others = 0.0, {}
    for each in psutil.process_iter(["name", "cpu_times", "cmdline"]):
        times = each.info["cpu_times"]
        if times is None:
            continue
        if each.pid in family:
            # A process that has ended is in the account of the one that waited for it.
            own += times.user + times.system + times.children_user + times.children_system
        elif each.info["cmdline"]:  # A thread of the kernel has none, and works for others.
            others[f"{each.info['name']} (pid {each.pid})"] = times.user + times.system
    return own, others


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
        # The memory of each if its libraries had not been loaded before.
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
