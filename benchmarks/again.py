"""Configurations of a search, measured again when it is over."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from autotune import Result, SearchOptions
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.events import nobody
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.search.turns import Turns
from autotune.stats import Noise


def in_turns(
    result: Result, arms: Sequence[Configuration], *, rounds: int, seed: int = 0
) -> tuple[Turns, Noise]:
    """Return rounds of fresh runs, each as in the finals, and the noise between runs.

    Args:
        result: Of a search of the same workload on this machine.
        arms: What runs once in each round.
        rounds: How many.
        seed: Of the order.
    """
    subject = Subject(workload=result.workload, facts=result.facts, machine=result.machine)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        runner = Runner(
            engine, subject, TrialList(), folder=Path(folder), budget=budget, observer=nobody
        )
        turns = Turns(runner, budget, seed=seed)
        for number in range(rounds):
            turns.take(arms, number)
    return turns, runner.history.noise
