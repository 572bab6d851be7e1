"""One search on a replayed machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.events import Event, TrialEnded
from autotune.options import SearchOptions
from autotune.search.findings import Findings
from autotune.search.profiling import reserved_seconds
from autotune.search.request import Subject
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.space import Candidates, candidates
from benchmarks.replay.characters import character
from benchmarks.replay.engine import ReplayEngine
from benchmarks.replay.table import FOLDER, read
from benchmarks.replay.world import World


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a replayed search found, and what it took."""

    world: World
    findings: Findings
    seconds: float
    ended: tuple[TrialEnded, ...]

    @property
    def share(self) -> float:
        """True throughput of what is recommended, as a share of the best."""
        return self.world.rates[self.findings.recommended] / self.world.best

    @property
    def cost(self) -> float:
        """Seconds of the search, everything included, as a share of one exhaustive pass."""
        return self.seconds / self.world.exhaustive_seconds


def replay(
    world: World,
    seconds: float,
    seed: int,
    among: Collection[Configuration] | None = None,
    search: type[Search] = Search,
    batch: int | None = None,
) -> Replayed:
    """Search a world within a budget, of which the profile keeps what it would get.

    The time that is told includes the whole of that, and what the tuner itself computes.

    Args:
        world: The truth.
        seconds: The budget, everything included.
        seed: Of the search and of the noise.
        among: What the search may try; None: all that can run.
        search: What searches.
        batch: The global batch that the user holds; None: it is free.
    """
    subject, found = situation(world.table.name, batch)
    if among is not None:
        kept = tuple(each for each in found.configurations if each in among)
        found = found.model_copy(update={"configurations": kept})
    started = time.process_time()
    options = SearchOptions(budget=seconds, seed=seed, global_batch=batch)
    engine = ReplayEngine(world, seed)
    began = engine.now()
    engine.execute(InspectionRequest(subject.workload))
    budget = Budget(options, engine.now, began, lambda: reserved_seconds(options, runner.history))
    ended: list[TrialEnded] = []

    def observer(event: Event) -> None:
        if isinstance(event, TrialEnded):
            ended.append(event)

    study = Study(pool=[*found.configurations, *found.batch_matched.values()])
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(
            engine, subject, study, folder=Path(folder), budget=budget, observer=observer
        )
        findings = search(runner, found, options).run()
    tuner = time.process_time() - started
    # The finals may have taken what is kept for the profile.
    with_profile = budget.elapsed + reserved_seconds(options, runner.history)
    taken = max(budget.elapsed, min(with_profile, seconds)) + tuner
    return Replayed(world=world, findings=findings, seconds=taken, ended=tuple(ended))


@cache
def situation(name: str, batch: int | None = None) -> tuple[Subject, Candidates]:
    """Return what is searched on the machine of a table, and its configurations.

    Args:
        name: The table.
        batch: The only global batch of the configurations; None: all.
    """
    table, swept = read(FOLDER / f"{name}.json.xz"), character(name)
    subject = Subject(workload=swept.workload, machine=table.machine, facts=table.facts)
    found = candidates(swept.space, table.machine, table.facts, swept.constraints)
    recorded = set(table.configurations)
    # A sweep holds what is in the space. One device at the global batch of several may lie outside;
    # the nearest to it has the batch of a replica, and gives way where the former was swept.
    nearest = {each: each.on_one_device() for each in found.distributed}
    pairs = [*nearest.items(), *found.batch_matched.items()]
    matched = {each: match for each, match in pairs if match in recorded}
    kept = [each for each in found.configurations if batch in {None, each.global_batch}]
    if batch:
        matched = {each: match for each, match in matched.items() if {each, match} <= {*kept}}
    update = {"configurations": tuple(kept), "batch_matched": matched}
    return subject, found.model_copy(update=update)
