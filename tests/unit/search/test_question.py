"""The answer that a posterior gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.result import Verdict
from autotune.search.belief import Belief
from autotune.search.posterior import Joint
from autotune.search.question import Entrants, Gain, admitted, gain_of, interval_of

MARGIN = math.log1p(0.03)


@pytest.fixture(autouse=True)
def rough_posterior() -> None:
    """Here it is drawn as in a search."""


def joint(means: list[float], sds: list[float], noise: float = 0.03) -> Joint:
    """One hypothesis, whose configurations are independent."""
    return Joint(
        means=np.array([means]),
        covariances=np.diag(np.square(sds))[None],
        noises=np.full((1, len(means)), noise**2),
    )


def entrants(
    singles: list[int],
    several: list[int],
    runs: tuple[int, ...],
    *,
    shown: int = 3,
    modes: tuple[int, int] = (20, 0),
    works: list[float] | None = None,
) -> Entrants:
    """All that is distributed may be recommended, and runs where nothing else is said."""
    able = np.ones(len(runs)) if works is None else np.array(works)
    return Entrants(singles, several, runs, shown, modes, may=several, works=able)


def asked(
    gain: float,
    sd: float,
    *,
    runs: tuple[int, int] = (3, 3),
    modes: tuple[int, int] = (20, 0),
    shown: int = 3,
) -> Gain:
    both = entrants([0], [1], runs, shown=shown, modes=modes)
    return gain_of(joint([0.0, gain], [sd / math.sqrt(2)] * 2), both, MARGIN)


@pytest.mark.parametrize(
    ("gain", "sd", "verdict"),
    [
        (0.10, 0.02, Verdict.DISTRIBUTE),
        (0.10, 0.10, Verdict.UNDECIDED),
        (0.02, 0.002, Verdict.ONE_DEVICE),  # a gain below the margin, of which it is sure
        (0.0, 0.01, Verdict.ONE_DEVICE),
        (0.0, 0.10, Verdict.UNDECIDED),
        (-0.10, 0.05, Verdict.ONE_DEVICE),
        (-0.50, 0.20, Verdict.ONE_DEVICE),  # little is to be lost by staying
    ],
)
def test_the_answer_follows_from_the_gain(gain: float, sd: float, verdict: Verdict) -> None:
    assert asked(gain, sd).verdict is verdict


def test_no_single_run_decides() -> None:
    once = asked(0.5, 0.02, runs=(2, 1))
    assert (once.verdict, once.lacks) == (Verdict.UNDECIDED, 1)
    assert asked(0.5, 0.02, runs=(1, 2)).lacks == 0
    assert asked(-0.5, 0.02, shown=1).verdict is Verdict.UNDECIDED


def test_two_configurations_of_one_device_stand_for_each_other() -> None:
    three = entrants([0, 1], [2], (1, 1, 2), shown=2)
    found = gain_of(joint([0.0, 0.0, 0.5], [0.02] * 3), three, MARGIN)
    assert (found.verdict, found.lacks) == (Verdict.DISTRIBUTE, None)


def test_worker_groups_may_run_in_the_faster_of_two_modes() -> None:
    """A gain of a tenth that two groups have shown is less sure than one that ten have."""
    few, many = (asked(0.10, 0.02, modes=modes).faster for modes in ((2, 0), (12, 0)))
    one_differs, two_differ = (asked(0.10, 0.02, modes=(12, n)).faster for n in (1, 2))
    assert few < many
    assert two_differ < one_differs < many


def test_what_an_answer_costs_if_it_is_wrong() -> None:
    """Staying loses what distributing gains, and the other way round; the smaller loss leads."""
    gains, loses = asked(0.10, 0.03), asked(-0.10, 0.03)
    assert gains.staying == pytest.approx(math.expm1(0.10), abs=0.02)
    assert loses.distributing == pytest.approx(-math.expm1(-0.10), abs=0.02)
    assert gains.leads
    assert not loses.leads


def test_an_untried_one_that_may_be_fast_keeps_the_question_open() -> None:
    three = entrants([0], [1, 2], (3, 3, 0))
    found = gain_of(joint([0.0, -0.3, 0.0], [0.01, 0.01, 0.2]), three, MARGIN)
    assert found.verdict is Verdict.UNDECIDED


def test_an_interval_is_the_middle_of_what_is_drawn() -> None:
    found = interval_of(np.log(np.linspace(1, 2, 1001)))
    assert (found.low, found.value, found.high) == pytest.approx((1.025, 1.5, 1.975))


def test_what_hardly_runs_does_not_hold_up_the_answer() -> None:
    """What is unknown of a batch that does not fit matters as little as it is likely to fit."""
    known = joint([0.0, 0.2, 0.0], [0.02, 0.02, 0.5])
    found = [
        gain_of(known, entrants([0, 2], [1], (3, 3, 0), works=works), MARGIN)
        for works in ([1.0, 1.0, 0.01], [1.0, 1.0, 1.0])
    ]
    assert [each.verdict for each in found] == [Verdict.DISTRIBUTE, Verdict.UNDECIDED]


def test_staying_is_not_said_while_what_was_measured_on_one_device_is_far_behind() -> None:
    """That an untried one is surely better than what leads has to be seen first."""
    known = joint([0.0, 2.0, 5.0], [0.02, 0.02, 0.3])
    found = gain_of(known, entrants([0, 2], [1], (3, 3, 0)), MARGIN)
    assert (found.none > 0.95, found.verdict, found.lacks) == (True, Verdict.UNDECIDED, 2)


def test_what_nobody_measured_at_the_own_batch_does_not_hold_back_another() -> None:
    """The settings that would help the own batch as much may not run any more."""
    own, cached, other = 0, 1, 2
    mine, known = [True, True, False], joint([0.0, 4.3, 4.2], [0.1, 0.5, 0.1])
    allowed, _ = admitted(known, [[own, cached, other], []], mine, [2, 0, 2])
    assert other in allowed
    allowed, question = admitted(known, [[own, cached, other], []], mine, [2, 2, 2])
    assert other not in allowed
    assert question is None


def test_several_runs_of_other_batches_speak_for_each_other() -> None:
    """None of them has to run twice, but one run alone decides nothing."""
    own, larger, largest = 0, 1, 2
    mine, known = [True, False, False], joint([0.0, 2.0, 2.1], [0.1, 0.1, 0.1])
    kinds = [[own, larger, largest], []]
    assert admitted(known, kinds, mine, [2, 1, 1]) == ({own, larger, largest}, None)
    allowed, question = admitted(known, kinds, mine, [2, 1, 0])
    assert larger not in allowed
    assert question == (larger, own, False)


def test_one_distributed_run_of_the_own_batch_holds_no_other_back() -> None:
    """Then one device with it is what another batch has to beat; two runs are an answer."""
    one, own, other = 0, 1, 2
    mine, known = [True, True, False], joint([0.0, 2.0, 1.9], [0.1, 0.1, 0.1])
    assert other in admitted(known, [[one], [own, other]], mine, [2, 1, 2])[0]
    assert other not in admitted(known, [[one], [own, other]], mine, [2, 2, 2])[0]


@pytest.mark.parametrize(
    ("gain", "untried", "asked"),
    [
        (0.15, [0.02, 0.2, 0.02, 0.02], (1, 2)),  # one device may yet beat who leads
        (-0.15, [0.02, 0.02, 0.02, 0.2], (0, 3)),  # several may yet beat one device
        (0.15, [0.02, 0.02, 0.02, 0.2], (0, 2)),
    ],
)
def test_what_did_not_run_may_leave_an_answer_open(
    gain: float, untried: list[float], asked: tuple[int, int]
) -> None:
    """Of each kind one was measured; the second one of each was not."""
    shown, works = joint([0.0, -0.05, gain, gain - 0.05], untried), (1.0,) * 4
    runs = (3, 0, 3, 0)
    found = gain_of(shown, entrants([0, 1], [2, 3], runs), MARGIN)
    each = [
        Configuration(strategy=name, replicas_per_worker=replicas, per_replica_batch=batch)
        for name, replicas in (("one_device", 1), ("mirrored", 2))
        for batch in (32, 64)
    ]
    belief = Belief(
        joint=shown,
        configurations=tuple(each),
        runs=runs,
        works=works,
        gain=found,
        margin=MARGIN,
    )
    assert belief.in_question == asked
