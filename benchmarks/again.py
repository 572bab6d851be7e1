"""Configurations of a search, measured again when it is over."""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autotune import Result, SearchOptions
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.events import nobody
from autotune.search.runner import Runner
from autotune.search.setup import Subject
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.trial import Stage, Trial


def in_turns(
    result: Result, arms: Sequence[Configuration], *, rounds: int, seed: int = 0
) -> dict[Configuration, dict[int, Trial]]:
    """Return fresh measured runs by round, after a search of the same workload on this machine.

    Each round has the configurations in random order.
    """
    order = random.Random(seed)  # noqa: S311 - an order of runs, no secret
    found: dict[Configuration, dict[int, Trial]] = {arm: {} for arm in arms}
    subject = Subject(workload=result.workload, facts=result.facts, machine=result.machine)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        runner = Runner(
            engine, subject, Study(), folder=Path(folder), budget=budget, observer=nobody
        )
        for turn in range(rounds):
            for arm in order.sample([*arms], len(arms)):
                trial = runner.run(arm, Stage.REPEAT)
                if trial.measured:
                    found[arm][turn] = trial
    return found
