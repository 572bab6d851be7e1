"""What a whole search answers, on a machine whose truth is known."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from autotune import Outcome, Verdict, load_configuration
from autotune.answer import Because
from autotune.checks.certificate import Finding
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.reason import Message, ReasonKind
from autotune.search import posterior
from tests.engines.fake import FakeEngine

from .conftest import SPACE, Tuner, speed

ALONE = Configuration()


def test_a_true_gain_is_found(tuner: Tuner, tmp_path: Path) -> None:
    """Where distribution is 1.5 times as fast, it is recommended, with an interval around 1.5.

    The user's own settings run, and the gain over them is told likewise. What is handed over is,
    byte for byte, what was timed, with a certificate that its file keeps.
    """
    truth = speed(distributed=1.5)
    engine = FakeEngine(truth, between=0.03)
    result = tuner(truth, engine=engine, out=tmp_path)
    assert result.verdict is Verdict.DISTRIBUTE
    assert result.config.distributed
    assert result.answer.distributed_gain.low < 1.5 < result.answer.distributed_gain.high
    assert result.answer.entry(result.config).ratio == result.answer.gain
    assert result.answer.probability >= 0.95
    assert any(t.configuration == ALONE and t.shown for t in result.trials)
    ratio = truth(result.config) / truth(ALONE)
    assert result.gain_over_yours.low / 1.1 < ratio < 1.1 * result.gain_over_yours.high
    timed = {r.script for r in engine.requests if r.configuration == result.config and not r.held}
    assert timed == {result.script}
    assert all(each.finding is Finding.PASSED for each in result.certificate.checks)
    assert result.certificate.line in result.reasons
    assert load_configuration(tmp_path / "config.yaml").certificate == result.certificate


def test_a_loss_is_seen(tuner: Tuner) -> None:
    """Where distribution is slower, one device is recommended, and it is told by how much.

    Nothing is certified then.
    """
    engine = FakeEngine(speed(distributed=0.7), between=0.03)
    result = tuner(speed(), engine=engine)
    assert result.certificate is None
    assert not engine.observed
    assert result.verdict is Verdict.ONE_DEVICE
    assert not result.config.distributed
    assert result.answer.distributed_gain.low < 0.7 < result.answer.distributed_gain.high < 1


def test_the_best_single_device_is_found(tuner: Tuner) -> None:
    """The settings that are fastest on one device are recommended, with the gain over defaults.

    A configuration at a tenth of one device is stopped early, with the bound as its reason.
    """
    result = tuner(speed(distributed=0.1))
    assert (result.config.per_replica_batch, result.config.steps_per_execution) == (256, 8)
    assert result.gain_over_yours.low < 8**0.3 * 8**0.1 < result.gain_over_yours.high
    pruned = [t for t in result.trials if t.outcome == "pruned" and t.configuration.distributed]
    assert pruned
    assert all(t.reason.kind == ReasonKind.SLOWER for t in pruned)


@pytest.mark.parametrize(("times", "kept"), [(1.0, True), (1.05, False)])
def test_own_settings_are_kept_where_others_gain_next_to_nothing(
    tuner: Tuner, *, times: float, kept: bool
) -> None:
    def rate(configuration: Configuration) -> float:
        alone = 0.5 if configuration.distributed else 1.0
        return 1000 * alone * (1.0 if configuration.steps_per_execution == 1 else times)

    result = tuner(rate, engine=FakeEngine(rate, between=0.001, within=0.001))
    assert result.verdict is Verdict.ONE_DEVICE
    assert (result.config == ALONE) is kept


@pytest.mark.parametrize(
    ("strategies", "axes", "told"),
    [
        (("one_device",), {}, "no other strategy was to be tried"),
        (
            ("one_device", "mirrored"),
            {"replicas_per_worker": (64,)},
            "no distributed configuration can run: TensorFlow sees",
        ),
    ],
    ids=["a space of one device", "a machine that can run nothing else"],
)
def test_without_anything_to_distribute_the_answer_is_one_device(
    tuner: Tuner, strategies: tuple[str, ...], axes: dict[str, Any], told: str
) -> None:
    axes = {**SPACE.axes, **axes}
    result = tuner(speed(), space=SPACE.model_copy(update={"strategies": strategies, "axes": axes}))
    assert result.verdict is Verdict.ONE_DEVICE
    assert told in result.summary


def test_the_same_seed_makes_the_same_search(tuner: Tuner) -> None:
    first, second = (tuner(speed(), seed=3, options={"budget": 60.0}) for _ in range(2))
    assert [t.configuration for t in first.trials] == [t.configuration for t in second.trials]


@pytest.mark.parametrize(("seconds", "noise"), [(45.0, 0.03), (45.0, 0.2), (60.0, 0.1)])
def test_what_the_batch_alone_brings_is_not_distributed(
    tuner: Tuner, seconds: float, noise: float
) -> None:
    result = tuner(lambda c: 1000.0 * c.global_batch**0.8, noise=noise, options={"budget": seconds})
    assert result.verdict is not Verdict.DISTRIBUTE


def test_untried_distribution_is_undecided(tuner: Tuner) -> None:
    result = tuner(speed(distributed=1.5), options={"budget": None, "max_trials": 1})
    assert result.verdict is Verdict.UNDECIDED
    assert result.answer.because is Because.NOT_TRIED
    assert result.answer.further.pays
    assert "nothing distributed ran" in result.summary
    assert "of search would be expected to save" in result.summary


@pytest.mark.parametrize("budget", [25.0, 50.0])
def test_pruned_runs_are_an_answer(tuner: Tuner, budget: float) -> None:
    space = SPACE.model_copy(update={"strategies": ("one_device", "mirrored")})
    space = space.model_copy(update={"axes": {**SPACE.axes, "per_replica_batch": (32,)}})
    options = {"global_batch": 64, "budget": budget}
    engine = FakeEngine(speed(distributed=0.15), between=0.01, tracing=3.0)
    result = tuner(speed(), engine=engine, space=space, options=options)
    assert {t.outcome for t in result.trials if t.configuration.distributed} == {Outcome.PRUNED}
    assert result.answer.because is Because.NOT_FASTER
    assert result.examples_per_second is not None


def test_distribution_that_always_fails_is_not_recommended(tuner: Tuner) -> None:
    def truth(c: Configuration) -> float | Stop:
        broken = Stop(outcome=Outcome.CRASHED, reason=Message(text="it is broken"))
        return broken if c.distributed else speed()(c)

    result = tuner(truth, options={"budget": 300.0})
    assert result.verdict is not Verdict.DISTRIBUTE
    assert result.answer.because is Because.NOT_MEASURED


def test_one_that_fails_when_it_runs_again_decides_nothing(tuner: Tuner) -> None:
    """The next one takes its place, and the verdict is about that one."""
    runs = Counter[Configuration]()

    def truth(c: Configuration) -> float | Stop:
        runs[c] += 1
        if c.strategy == "mirrored" and runs[c] > 1:
            return Stop(outcome=Outcome.CRASHED, reason=Message(text="it broke later"))
        return speed(distributed=1.12 if c.strategy == "mirrored" else 1.1)(c)

    result = tuner(truth, options={"budget": 400.0, "train_for": "100h"})
    assert result.config.strategy == "multi_worker_mirrored"
    assert result.verdict is Verdict.DISTRIBUTE


@pytest.mark.parametrize("disturbed", [0.4, 2.0])
def test_a_disturbed_run_decides_nothing(
    tuner: Tuner, monkeypatch: pytest.MonkeyPatch, disturbed: float
) -> None:
    monkeypatch.setattr(posterior, "WALKERS", 128)
    runs = iter(range(10**6))

    def truth(c: Configuration) -> float:
        factor = disturbed if next(runs) % 10 == 9 else 1.0
        return factor * speed(distributed=1.4)(c)

    result = tuner(truth, options={"budget": 300.0})
    assert result.verdict is Verdict.DISTRIBUTE
    true = speed(distributed=1.4)
    gain = true(result.answer.several) / true(result.answer.one_device)
    assert result.answer.distributed_gain.low < gain < result.answer.distributed_gain.high
