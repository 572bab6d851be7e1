"""Who proposes what to try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.events import nobody
from autotune.options import SearchOptions
from autotune.search.history import History
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.sampler import SAMPLER, MakeSampler
from autotune.search.search import Findings, Search
from autotune.search.stopping import Budget
from autotune.search.surrogate import Expectations
from autotune.space import candidates
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.workload import Workload

from .conftest import SPACE, speed


class Last:
    """Proposes the last configuration, as often as it is asked, and then no more."""

    def __init__(self, most: int) -> None:
        self._left = most
        self.asked: list[int] = []

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration | None:
        """Return the last one."""
        self.asked.append(len(history))
        self._left -= 1
        return untried[-1] if self._left >= 0 else None


def searched(make: MakeSampler, workload: Workload, folder: Path) -> Findings:
    engine = FakeEngine(speed(distributed=1.5), between=0.02)
    subject = Subject(workload=workload, facts=FAKE_FACTS, machine=FAKE_MACHINE)
    options = SearchOptions()
    found = candidates(SPACE, FAKE_MACHINE, FAKE_FACTS, options).model_copy(
        update={"batch_matched": {}}
    )
    budget = Budget(options, engine.now, engine.now())
    runner = Runner(engine, subject, TrialList(), folder=folder, budget=budget, observer=nobody)
    return Search(runner, budget, found, options, sampler=make).run()


@pytest.mark.parametrize("make", [SAMPLER, lambda *_: Last(most=99)], ids=["own", "any other"])
def test_a_search_takes_any_sampler(make: MakeSampler, workload: Workload, tmp_path: Path) -> None:
    """Finals decide, whoever proposes the trials."""
    findings = searched(make, workload, tmp_path)
    assert findings.recommended.distributed


def test_a_sampler_sees_the_trials_and_ends_exploration(workload: Workload, tmp_path: Path) -> None:
    """It is asked again after each trial, until it proposes nothing."""
    sampler = Last(most=2)
    findings = searched(lambda *_: sampler, workload, tmp_path)
    assert sampler.asked == sorted(sampler.asked)
    assert sampler.asked[0] > 0
    assert len(findings.history.tried) < 12


def test_a_sampler_gets_the_pool_and_a_seed(workload: Workload, tmp_path: Path) -> None:
    """With them it can prepare itself once for a search."""
    given: list[tuple[int, int]] = []

    def make(expectations: Expectations, seed: int) -> Last:
        given.append((len(expectations.pool), seed))
        return Last(most=0)

    findings = searched(make, workload, tmp_path)
    assert given == [(4 + findings.distributable, 0)]
