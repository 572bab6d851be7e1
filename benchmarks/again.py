"""Configurations of a search, measured again when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from autotune import Result, SearchOptions
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.events import nobody
from autotune.search.request import Subject
from autotune.search.stopping import Budget
from autotune.verification.contest import Turns, turns


def in_turns(result: Result, arms: Sequence[Configuration], *, rounds: int, seed: int = 0) -> Turns:
    """Return rounds of fresh runs, each as in the finals, in random order within a round.

    Args:
        result: Of a search of the same workload on this machine.
        arms: What runs once in each round.
        rounds: How many.
        seed: Of the order.
    """
    subject = Subject(workload=result.workload, facts=result.facts, machine=result.machine)
    with LocalEngine() as engine:
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        with turns(engine, subject, arms, budget=budget, seed=seed, observer=nobody) as running:
            for _ in range(rounds):
                running.take()
    return running
