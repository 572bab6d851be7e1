"""What a search answers, by what its rule concludes and by what its trials have shown."""

import math
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from autotune.answer import Answer, Because, Ended, Further, NotTaken, Verdict
from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.events import Event, Notice
from autotune.objective import objective_named
from autotune.reason import Outcome
from autotune.search.answering import ITSELF, Answering, Evidence
from autotune.search.runner import Runner
from autotune.search.setup import Subject
from autotune.search.trials import History
from autotune.space import Candidates
from autotune.trial import Stage, Trial
from autotune.workload import Length, LengthSource
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine, fake_learning
from tools.docs.samples import WORKLOAD

from .conftest import Tuner, ended, speed

OWN = Configuration()
ALONE = Configuration(per_replica_batch=64)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2)
CRASHED = ended(5, PAIR, Outcome.CRASHED, None)
FEW = ended(0, OWN, stage=Stage.BASELINE)
LONGER = Further(seconds=60.0, saves=600.0)


def answer(*trials: Trial, length: Length = Length(), **found: Any) -> Answer:  # noqa: B008 - immutable
    """Return the answer of a search with some trials, of which the rule concludes what is given.

    The posterior knows each configuration to within a per cent.
    """
    subject = Subject(workload=WORKLOAD, facts=FAKE_FACTS, machine=FAKE_MACHINE, length=length)
    if learning := found.pop("learning", None):
        subject = Subject(
            workload=WORKLOAD,
            facts=FAKE_FACTS.model_copy(update={"learning": learning}),
            machine=FAKE_MACHINE,
            objective=objective_named("time_to_loss"),
            length=length,
        )
    runner = SimpleNamespace(
        history=History(trials, subject.scorer),
        subject=subject,
        budget=SimpleNamespace(elapsed=30.0),
        loads=[],
        why_impossible=lambda _: None,
    )
    pool = found.pop("pool", (OWN, ALONE, PAIR))
    ran = {t.configuration: t.examples_per_second for t in trials if t.examples_per_second}
    rates = {OWN: 100.0, **ran, **found.pop("rates", {})}
    noise = 0.01 * np.random.default_rng(0).standard_normal((len(rates), 4000))
    logs = {
        c: math.log(rate) + subject.scorer.log_offset(c) + noise[n]
        for n, (c, rate) in enumerate(rates.items())
    }
    several = next((c for c in ran if c.distributed), None)
    known = {"recommended": OWN, "own": OWN, "one_device": OWN, "several": several}
    evidence = Evidence(**{**known, "distributes": 0.02, "logs": logs, "noise": 0.05, **found})
    candidates = Candidates(configurations=pool, limits=())
    made = Answering(runner=cast(Runner, runner), candidates=candidates, margin=0.03)
    return made.answer(evidence)


@pytest.mark.parametrize(
    ("trials", "found", "because"),
    [
        ([ended(1, PAIR, rate=150.0)], {"recommended": PAIR, "distributes": 0.99}, "faster"),
        ([ended(1, PAIR, rate=150.0)], {"distributes": 0.99}, "not certified"),
        ([ended(1, PAIR, rate=150.0)], {"distributes": 0.7, "certified": True}, "not sure"),
        ([ended(1, PAIR, rate=80.0)], {}, "not faster"),
        ([CRASHED, ended(1, PAIR, Outcome.PRUNED, 80.0)], {}, "not faster"),
        ([CRASHED], {}, "not measured"),
        ([], {}, "not tried"),
        ([ended(1, PAIR, Outcome.REJECTED, None)], {}, "rejected"),
        ([], {"pool": (OWN,)}, "only one device"),
    ],
)
def test_the_reason_follows_from_what_ran(
    trials: list[Trial], found: dict[str, Any], because: str
) -> None:
    assert answer(FEW, *trials, **found).because is Because(because)


@pytest.mark.parametrize(
    ("ended_by", "further", "verdict"),
    [
        (Ended.PAID, Further(seconds=60.0, saves=6.0), Verdict.ONE_DEVICE),
        (Ended.LIMIT, LONGER, Verdict.UNDECIDED),
        (Ended.INTERRUPTED, LONGER, Verdict.UNDECIDED),
        (Ended.LIMIT, Further(seconds=60.0, saves=6.0), Verdict.ONE_DEVICE),
        (Ended.LIMIT, None, Verdict.ONE_DEVICE),
        (None, LONGER, Verdict.ONE_DEVICE),
    ],
)
def test_not_sure_is_left_for_a_search_that_would_have_paid(
    ended_by: Ended | None, further: Further | None, verdict: Verdict
) -> None:
    found = answer(FEW, ended=ended_by, further=further)
    assert (found.verdict, found.probability) == (verdict, pytest.approx(0.98))


def test_an_entry_has_its_own_runs_and_the_ratio_of_all() -> None:
    """The median of what was measured; the highest ratio first; the own settings are the base."""
    runs = [ended(n, ALONE, rate=rate) for n, rate in enumerate((150.0, 120.0, 130.0), 1)]
    found = answer(FEW, *runs, ended(4, ALONE, Outcome.PRUNED, 10.0), rates={ALONE: 125.0})
    first, second = found.entries
    assert (first.configuration, first.runs) == (ALONE, 3)
    assert first.examples_per_second.value == pytest.approx(130.0)
    assert 1 < first.ratio.low < first.ratio.value < first.ratio.high
    assert second.ratio == ITSELF
    assert found.base == pytest.approx(100.0)
    assert found.ratio_of_run(ALONE, 150.0) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("faster", "found", "why"),
    [
        (ended(1, ALONE, rate=101.0), {}, NotTaken.SMALL),
        (ended(1, ALONE, Outcome.PRUNED, 150.0), {}, NotTaken.STOPPED),
        (ended(1, PAIR, rate=150.0), {"distributes": 0.7}, NotTaken.NOT_SURE),
        (ended(1, PAIR, rate=150.0), {"distributes": 0.99}, NotTaken.NOT_CERTIFIED),
        (ended(1, ALONE, rate=150.0), {"recommended": ALONE}, None),
    ],
)
def test_what_stands_above_the_recommended_one_says_why_it_is_not_taken(
    faster: Trial, found: dict[str, Any], why: NotTaken | None
) -> None:
    first, second = answer(FEW, faster, **found).entries
    assert (first.not_taken, second.not_taken) == (why, None)


def test_what_the_own_settings_would_reach_is_expected_where_they_did_not_run() -> None:
    found = answer(ended(0, ALONE, rate=200.0), recommended=ALONE)
    assert [each.configuration for each in found.entries] == [ALONE]
    assert found.gain.value == pytest.approx(2.0, rel=0.01)
    assert found.base is None
    assert found.ratio_of_run(ALONE, 200.0) is None


def test_the_time_is_that_of_the_program_as_it_is_delivered() -> None:
    """What lies between epochs does not shrink; a batch that needs more examples gets them."""
    length = Length(source=LengthSource.SCRIPT, examples=100_000, seconds=None, between=100.0)
    known = {"length": length, "recommended": ALONE, "rates": {ALONE: 200.0}}
    found = answer(FEW, **known)
    assert found.own_seconds.value == pytest.approx(1100.0, rel=0.01)
    assert found.recommended_seconds.value == pytest.approx(600.0, rel=0.01)
    slower = answer(FEW, **known, learning=fake_learning(1.0))
    assert slower.recommended_seconds.value > 1.1 * found.recommended_seconds.value
    assumed = answer(FEW, recommended=ALONE, rates={ALONE: 200.0})
    assert assumed.own_seconds.value == pytest.approx(3600.0)
    assert assumed.recommended_seconds.value == pytest.approx(1800.0, rel=0.01)


def test_a_search_that_ran_nothing_has_an_answer() -> None:
    found = answer(logs={})
    assert (found.entries, found.gain, found.recommended) == ((), None, OWN)
    assert found.own_seconds.value == pytest.approx(3600.0)


def _load(used: float) -> Load:
    return Load(seconds=10, cores=2, busy=used, stolen=0)


@pytest.mark.parametrize(
    ("before", "during", "told", "reason"),
    [(1.3, 0.0, ["Other programs use 1.3 of 2 cores"], False), (0.0, 0.7, [], True)],
)
def test_a_busy_machine_is_told(
    tuner: Tuner, before: float, during: float, told: list[str], *, reason: bool
) -> None:
    """Before the search, while it can still be made quiet; else as a reason of the verdict."""
    loads, events = chain([None, _load(before)], repeat(_load(during))), list[Event]()
    engine = FakeEngine(speed(), seed=1, load=lambda: next(loads))
    options = {"budget": None, "max_trials": 4}
    result = tuner(speed(), engine=engine, options=options, observer=events.append)
    texts = [each.text for each in events if isinstance(each, Notice)]
    assert [text[:33] for text in texts] == told
    assert ("other programs used 0.7 of 2 cores" in result.reasons[-1]) is reason
    assert any("During the search" in each for each in result.reasons) is reason
