"""A run: kills at random moments, looks in between, and what is left at the end."""

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

import httpx2 as httpx

from autotune.wire.errors import DatabaseUnavailable
from autotune.wire.jobs import State
from benchmarks.service.site import until

from .acts import KILLS, Acts
from .customer import Customer
from .ledger import Ledger, trials_recorded
from .world import World

BETWEEN_LOOKS = 2.0
START_SECONDS = 180.0
"""Longest wait until a worker has a job."""
LEFT_SECONDS = 600.0
"""Longest wait for the last jobs to end."""


class Run:
    def __init__(
        self,
        world: World,
        *,
        lease: float,
        asked: Mapping[str, object],
        seed: int,
        pause: float,
        waiting: int,
    ) -> None:
        self._world = world
        self._seed = seed
        self._pause = pause
        self._ledger = Ledger(world.database, lease)
        self._acts = Acts(world, lease)
        self._customer = Customer(world.address, asked, seed, most=waiting)
        self._looked = 0.0

    def go(self, kills: int, seconds: float) -> str:
        """Kill so often, but not for longer than that; return what happened in a line."""
        self._customer.start()
        until(self._begun, START_SECONDS)
        began = time.monotonic()
        while self._acts.kills < kills and time.monotonic() - began < seconds:
            self._world_turns()
        took = time.monotonic() - began
        self._acts.undo_all()
        self._customer.stop()
        assert self._customer.failure is None, repr(self._customer.failure)
        self._wait_for_the_last()
        self._check_all()
        return self._summary(took)

    def _begun(self) -> bool:
        with suppress(DatabaseUnavailable):  # Nobody has made its tables yet.
            return bool(self._world.holding())
        return False

    def _world_turns(self) -> None:
        with suppress(DatabaseUnavailable):  # It is restarted, or has no room.
            self._acts.tick()
            self._acts.act()
            if time.monotonic() - self._looked > BETWEEN_LOOKS:
                self._look()
        assert self._customer.failure is None, repr(self._customer.failure)
        time.sleep(self._world.random.expovariate(1 / self._pause))

    def _look(self) -> None:
        self._ledger.check()
        self._looked = time.monotonic()

    def _wait_for_the_last(self) -> None:
        deadline = time.monotonic() + LEFT_SECONDS
        while set(self._accepted) - self._ledger.ended.keys():
            assert time.monotonic() < deadline, "a job does not end"
            self._acts.tick()
            self._look()
            time.sleep(0.2)

    @property
    def _accepted(self) -> list[str]:
        return [*self._customer.accepted.values()]

    def _check_all(self) -> None:
        assert set(self._ledger.ended) == set(self._accepted)
        assert len(set(self._accepted)) == len(self._accepted)
        states = {row.id: State(row.state) for row in self._ledger.ended.values()}
        cancelled = {each for each, state in states.items() if state is State.CANCELLED}
        assert cancelled <= self._customer.cancelled
        until(lambda: not self._ledger.left_over(), 60)
        assert self._over_http() == states

    def _over_http(self) -> dict[str, State]:
        with httpx.Client(base_url=self._world.address, timeout=20) as client:
            until(lambda: _ready(client), 60)
            return {
                each: State(client.get(f"/v1/tunings/{each}").json()["state"])
                for each in self._accepted
            }

    def _summary(self, took: float) -> str:
        done = self._acts.done
        states = Counter(row.state for row in self._ledger.ended.values())
        kills = ", ".join(f"{name} {done[name]}" for name in KILLS)
        others = ", ".join(f"{name} {done[name]}" for name in (*self._acts.others, "woken"))
        jobs = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        trials = trials_recorded(self._world.database)
        return (
            f"seed {self._seed}: {self._acts.kills} kills ({kills}) in {took:.0f} s, "
            f"{self._acts.kills / took:.2f} a second; {others}; "
            f"died of something else {done['died of something else']}; "
            f"{len(self._accepted)} jobs accepted ({jobs}), "
            f"{trials} trials, {self._customer.refused} answers of 503; "
            "lost 0, doubled 0, orphans 0"
        )


def _ready(client: httpx.Client) -> bool:
    with suppress(httpx.TransportError):
        return client.get("/readyz").status_code == 200
    return False
