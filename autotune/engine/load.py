"""What other programs take of the cores that trials run on.

Two looks at the kernel's counters, and the difference between them, so that looking costs a few
milliseconds between trials, and nothing while one runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """Used by all programs and by the kernel for them. Without interrupts: they are nobody's."""
    stolen: float
    """Withheld by the hypervisor while there was something to run."""
    own: float
    """Used by this process and all that descend from it, ended ones included."""
    others: Mapping[str, float]
    """Used by each program that does not descend from this process: `python (pid 77)`."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What others took between two looks."""

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
            # Whoever has ended is in the account of who waited for it, in the family too.
            own += times.user + times.system + times.children_user + times.children_system
        elif each.info["cmdline"]:  # A thread of the kernel has none, and works for others.
            others[f"{each.info['name']} (pid {each.pid})"] = times.user + times.system
    return own, others
