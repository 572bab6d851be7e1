"""What is done to the service; each act returns whether there was anybody to do it to."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil
from sqlalchemy import update

from autotune.api.store.tables import jobs

from .world import Part, World

FULL_SECONDS = 1.5
PATIENT_SECONDS = 20.0
"""Longest wait for somebody of the kind that is to be killed next."""
HOUR = 3600.0
KILLS = {"rank": 50, "search": 24, "worker": 18, "API": 8}
"""Who is killed, and how often of a hundred times."""


class Acts:
    def __init__(self, world: World, lease: float) -> None:
        self._world = world
        self._lease = lease
        self._due: list[tuple[float, Callable[[], None]]] = []
        self.done: Counter[str] = Counter()
        self.others: dict[str, tuple[float, Callable[[], bool]]] = {
            "frozen": (0.04, self._freeze),
            "clock moved": (0.02, self._move_clock),
            "database restarted": (0.01, self._restart_database),
            "disk full": (0.01, self._fill_disk),
        }
        """What else is done, how often for each kill, and by what."""
        self._choose()

    @property
    def kills(self) -> int:
        return sum(self.done[name] for name in KILLS)

    def act(self) -> None:
        if not self._kill():
            return
        for name, (often, act) in self.others.items():
            if self._world.random.random() < often:
                self.done[name] += act()

    def tick(self) -> None:
        """Undo what is to be undone by now, and start again who died of something else."""
        now = time.monotonic()
        due = [each for each in self._due if each[0] <= now]
        self._due = [each for each in self._due if each[0] > now]
        for _, undo in due:
            undo()
        for each in (self._world.api, *self._world.workers):
            self.done["died of something else"] += each.revive()

    def undo_all(self) -> None:
        self._due = [(0.0, undo) for _, undo in self._due]
        self.tick()

    def _kill(self) -> bool:
        world = self._world
        searches, ranks = world.family()
        victims: dict[str, Sequence[psutil.Process | Part]] = {
            "rank": ranks,
            "search": searches,
            "worker": world.holding(),
            "API": world.serving(),
        }
        name = self._next
        if not victims[name]:  # Killing whoever is there would let no search reach its trials.
            if time.monotonic() - self._since > PATIENT_SECONDS:
                self._choose()
            return False
        self._choose()
        victim = world.random.choice(victims[name])
        with suppress(psutil.NoSuchProcess):
            victim.kill()
        self.done[name] += 1
        return True

    def _choose(self) -> None:
        self._next = self._world.random.choices(list(KILLS), list(KILLS.values()))[0]
        self._since = time.monotonic()

    def _freeze(self) -> bool:
        among = self._world.holding()
        if among:
            victim = self._world.random.choice(among)
            victim.freeze()
            self._later(self._lease * 1.7, lambda: self._thaw(victim))
        return bool(among)

    def _thaw(self, victim: Part) -> None:
        if victim.frozen:
            victim.thaw()
            self.done["woken"] += 1

    def _move_clock(self) -> bool:
        """Have every lease end an hour sooner or later, as if the database's clock had moved."""
        by = self._world.random.choice((-HOUR, HOUR))
        with self._world.database.writing() as connection:
            connection.execute(update(jobs).values(expires_at=jobs.c.expires_at + by))
        return True

    def _restart_database(self) -> bool:
        if self._world.restart is not None:
            self._world.restart()
        return self._world.restart is not None

    def _fill_disk(self) -> bool:
        disk = self._world.disk
        if disk is not None:
            disk.fill()
            self._later(FULL_SECONDS, disk.empty)
        return disk is not None

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + seconds, undo))
