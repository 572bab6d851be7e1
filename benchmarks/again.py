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
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.verification.contest import Turns


def in_turns(result: Result, arms: Sequence[Configuration], *, rounds: int, seed: int = 0) -> Turns:
    """Return rounds of fresh runs, after a search of the same workload on this machine."""
    subject = Subject(workload=result.workload, facts=result.facts, machine=result.machine)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        budget = Budget(SearchOptions(budget=None), engine.now, engine.now())
        runner = Runner(
            engine, subject, Study(), folder=Path(folder), budget=budget, observer=nobody
        )
        turns = Turns(runner, arms, seed=seed)
        for _ in range(rounds):
            turns.take()
    return turns
