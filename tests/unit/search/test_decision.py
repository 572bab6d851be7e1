"""What holds of every decision: answers are made of runs that are written down."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from autotune.answer import Answer
from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.runner import Runner
from autotune.search.search import Search
from autotune.search.setup import Subject
from autotune.search.trials import History
from autotune.space import Candidates
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE
from tools.docs.samples import WORKLOAD

from .conftest import ended

OWN = Configuration()
BATCH = Configuration(per_replica_batch=64)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2)
POOL = (OWN, BATCH, PAIR)
SD = 0.03
"""Standard deviation of log(rate) between runs."""
DRAWN = 0.05
"""Error of a probability, which is a mean over drawn walkers."""

Runs = Sequence[tuple[Configuration, float]]
scatter = st.lists(st.floats(-2, 2), min_size=3, max_size=6)
gains = st.floats(0.7, 1.4)
few = settings(max_examples=15, derandomize=True)


@pytest.fixture(autouse=True, scope="module")
def rough_posterior() -> None:
    """The posterior is drawn as in a search."""


def answer(runs: Runs, pool: tuple[Configuration, ...] = POOL, margin: float = 0.03) -> Answer:
    """Return the answer of a search with these runs, where all that is distributed is certified."""
    subject = Subject(workload=WORKLOAD, facts=FAKE_FACTS, machine=FAKE_MACHINE)
    trials = [ended(n, c, rate=rate, ended_at=20.0 * n) for n, (c, rate) in enumerate(runs)]
    runner = SimpleNamespace(
        history=History(trials, subject.scorer),
        subject=subject,
        budget=SimpleNamespace(elapsed=20.0 * len(runs), zero=0.0),
        engine=SimpleNamespace(now=lambda: 20.0 * len(runs)),
        study=SimpleNamespace(use=lambda *_: None),
        loads=[],
        why_impossible=lambda _: None,
    )
    candidates = Candidates(configurations=pool, limits=())
    search = Search(cast(Runner, runner), candidates, SearchOptions(margin=margin))
    search.certification.passed = lambda configuration: configuration.distributed  # type: ignore[method-assign]
    return search.answer()


def distributes(found: Answer) -> float:
    """Return the probability that distributing pays."""
    chosen = found.recommended.distributed
    return found.probability if chosen else 1 - found.probability


def pairs(gain: float, off: Sequence[float], one: Configuration = OWN) -> Runs:
    """Return runs in turns, of which the distributed ones are so many times as fast."""
    return [
        each
        for x in off
        for each in ((one, 100.0 * (1 + SD * x)), (PAIR, 100.0 * gain * (1 - SD * x)))
    ]


@few
@given(gain=gains, off=scatter)
def test_exchanged_sides_exchange_the_probability(gain: float, off: list[float]) -> None:
    """The prior differs: distributed runs need not scatter as those of one device do."""
    runs = pairs(gain, off)
    other = {OWN: PAIR, PAIR: OWN}
    swapped = [(other[c], rate) for c, rate in runs]
    one, two = (distributes(answer(each, (OWN, PAIR), margin=0.0)) for each in (runs, swapped))
    assert one + two == pytest.approx(1, abs=2 * DRAWN)


@few
@given(gain=gains, off=scatter, factor=st.floats(1e-3, 1e3))
def test_a_faster_clock_changes_nothing(gain: float, off: list[float], factor: float) -> None:
    runs = pairs(gain, off)
    one, other = answer(runs), answer([(c, factor * rate) for c, rate in runs])
    assert (one.verdict, one.recommended) == (other.verdict, other.recommended)
    assert one.probability == pytest.approx(other.probability, abs=DRAWN)
    assert one.distributed_gain.value == pytest.approx(other.distributed_gain.value, rel=0.01)
    assert one.noise == pytest.approx(other.noise, rel=0.05)


@few
@given(gain=st.one_of(st.floats(0.7, 0.98), st.floats(1.08, 1.4)), off=scatter)
def test_more_runs_of_the_same_truth_are_surer_of_it(gain: float, off: list[float]) -> None:
    even = [each for x in off for each in (x, -x)]
    few_runs, many = (distributes(answer(pairs(gain, even * n))) for n in (1, 2))
    truth = [p if gain > 1.03 else 1 - p for p in (few_runs, many)]
    assert truth[1] >= truth[0] - DRAWN


@few
@given(gain=gains, off=scatter)
def test_a_configuration_that_is_there_twice_changes_nothing(gain: float, off: list[float]) -> None:
    runs = pairs(gain, off)
    one, other = answer(runs), answer(runs, (*POOL, PAIR, OWN))
    assert (one.verdict, one.recommended) == (other.verdict, other.recommended)
    assert one.probability == pytest.approx(other.probability, abs=DRAWN)
