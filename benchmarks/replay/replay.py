"""One search on a replayed machine."""

import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from autotune.answer import Answer
from autotune.engine.tasks import InspectionRequest
from autotune.events import Event, TrialEnded
from autotune.options import SearchOptions
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.setup import Subject
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.search.trials import History
from autotune.space import Candidates, candidates
from autotune.workload import Length, LengthSource
from benchmarks.replay.characters import character
from benchmarks.replay.engine import ReplayEngine
from benchmarks.replay.table import FOLDER, read
from benchmarks.replay.world import World


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a replayed search found, and what it took."""

    world: World
    answer: Answer
    history: History
    seconds: float
    ended: tuple[TrialEnded, ...]

    @property
    def share(self) -> float:
        """True throughput of what is recommended, as a share of the best."""
        return self.world.rates[self.answer.recommended] / self.world.best


def replay(
    world: World,
    seed: int,
    training: float,
    *,
    budget: float | None = None,
    search: type[Search] = Search,
    batch: int | None = None,
) -> Replayed:
    """Search a world; the time that is told includes what the tuner itself computes.

    Args:
        world: The truth.
        seed: Of the search and of the noise.
        training: Seconds that the training takes by the own settings.
        budget: Limit of the search in seconds; None: none.
        search: What searches.
        batch: The global batch that the user holds; None: it is free.
    """
    subject, found = situation(world.table.name, batch)
    subject = replace(subject, length=Length(source=LengthSource.TRAIN_FOR, seconds=training))
    started = time.process_time()
    options = SearchOptions(budget=budget, seed=seed, global_batch=batch)
    engine = ReplayEngine(world, seed)
    began = engine.now()
    engine.execute(InspectionRequest(subject.workload))
    limit = Budget(options, engine.now, began)
    ended: list[TrialEnded] = []

    def observer(event: Event) -> None:
        if isinstance(event, TrialEnded):
            ended.append(event)

    study = Study(pool=found.configurations)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(
            engine, subject, study, folder=Path(folder), budget=limit, observer=observer
        )
        searching = search(runner, found, options)
        searching.run()
        answer = searching.end()
    taken = limit.elapsed + time.process_time() - started
    return Replayed(
        world=world, answer=answer, history=runner.history, seconds=taken, ended=tuple(ended)
    )


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
    # A sweep holds what is in the space, and may lack one device at the global batch of several.
    every = {*table.configurations}
    kept = [each for each in found.configurations if batch in {None, each.global_batch}]
    recorded = tuple(each for each in kept if each in every)
    return subject, found.model_copy(update={"configurations": recorded})
