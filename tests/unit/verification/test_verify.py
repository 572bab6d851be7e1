"""Whether a saved recommendation still holds, on a machine whose truth is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from autotune import (
    Answer,
    DatasetTooSmall,
    FactoryFailed,
    FactoryNotFound,
    Interval,
    NotVerified,
    Outcome,
    ScriptFailed,
    Verdict,
    Verification,
    WorkloadError,
    verify,
)
from autotune.config import Configuration
from autotune.events import Event, TrialEnded
from autotune.installed import VERSION
from autotune.options import SearchOptions
from autotune.reason import Killed
from autotune.result import SavedConfiguration, load_configuration
from autotune.result.saved import PICKLES, save_configuration
from autotune.search.request import TuningRequest
from autotune.search.tune import tune
from autotune.space import parse_space
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, Ending, FakeEngine, fake_machine, table
from autotune.testing.fake import fake_learning
from autotune.workload import factory_from_callable
from tools.docs.samples import WORKLOAD

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)
CRASH = Ending(outcome=Outcome.CRASHED, reason=Killed(signal=11))


def save(verdict: Verdict, **changes: Any) -> SavedConfiguration:
    """Return a recommendation with a verdict: the pair for "distribute", else one device."""
    winner = PAIR if verdict is Verdict.DISTRIBUTE else ALONE
    fields: dict[str, Any] = {
        "configuration": winner,
        "global_batch": winner.global_batch,
        "examples_per_second": Interval(low=960, value=1000, high=1040),
        "one_device": ALONE,
        "best_distributed": PAIR,
        "workload": WORKLOAD,
    }
    return SavedConfiguration(
        autotune=VERSION,
        verdict=verdict,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        seed=0,
        **fields | changes,
    )


def check(
    verdict: Verdict,
    *,
    alone: float | Ending = 1000.0,
    pair: float | Ending = 1000.0,
    noise: float = 0.03,
    seed: int = 0,
    seconds: float = 50.0,
    **changes: Any,
) -> Verification:
    """Verify a verdict on a machine with some speeds, by default a quiet one."""
    engine = FakeEngine(table({ALONE: alone, PAIR: pair}), between=noise, seed=seed)
    return verify(save(verdict, **changes), engine=engine, seconds=seconds, seed=seed)


@pytest.mark.parametrize(
    ("verdict", "pair", "answer"),
    [
        (Verdict.DISTRIBUTE, 1500.0, Answer.HOLDS),
        (Verdict.DISTRIBUTE, 700.0, Answer.FAILS),
        (Verdict.ONE_DEVICE, 700.0, Answer.HOLDS),
        (Verdict.ONE_DEVICE, 1500.0, Answer.FAILS),
        (Verdict.UNDECIDED, 700.0, Answer.HOLDS),
        (Verdict.UNDECIDED, 1500.0, Answer.FAILS),
    ],
)
def test_the_truth_decides(verdict: Verdict, pair: float, answer: Answer) -> None:
    found = check(verdict, pair=pair)
    assert found.answer is answer
    assert found.seconds < 40
    truth = pair / 1000 if verdict is Verdict.DISTRIBUTE else 1000 / pair
    assert found.ratio.value == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("verdict", [Verdict.DISTRIBUTE, Verdict.ONE_DEVICE])
def test_a_small_difference_on_a_noisy_machine_is_unclear(verdict: Verdict) -> None:
    """All of the time is used, and the text says that nothing was refuted."""
    found = check(verdict, pair=1030.0, noise=0.12)
    assert found.answer is Answer.UNCLEAR
    assert found.summary.startswith("Inconclusive")
    assert "allow more time" in found.summary
    assert 40 < found.seconds <= 50


@pytest.mark.parametrize(
    ("verdict", "pair", "margin", "answer"),
    [
        (Verdict.DISTRIBUTE, 1010.0, 0.2, Answer.FAILS),
        (Verdict.ONE_DEVICE, 1300.0, 0.02, Answer.FAILS),
        (Verdict.ONE_DEVICE, 1300.0, 0.6, Answer.HOLDS),
    ],
)
def test_the_saved_margin_decides(
    verdict: Verdict, pair: float, margin: float, answer: Answer
) -> None:
    """A gain below it, surely above zero, is no reason to distribute."""
    found = check(verdict, pair=pair, noise=0.001, seconds=400, margin=margin)
    assert found.answer is answer
    assert ("a gain of less than 20%" in found.summary) is (verdict is Verdict.DISTRIBUTE)


def test_a_sound_recommendation_is_seldom_refuted() -> None:
    """With a gain just at the margin, where either answer would be wrong, both are rare."""
    answers = Counter(
        check(Verdict.ONE_DEVICE, pair=1030.0, noise=0.08, seed=seed).answer for seed in range(6)
    )
    assert answers[Answer.FAILS] == 0
    assert answers[Answer.UNCLEAR] >= 5


@pytest.mark.parametrize("distributed", [None, PAIR.but(replicas_per_worker=8)])
def test_without_a_distributed_rival_the_defaults_are_one(
    distributed: Configuration | None,
) -> None:
    """Do the tuned settings still beat what Keras does by itself? A note names who cannot run."""
    engine = FakeEngine(table({ALONE: 1500.0, Configuration(): 1000.0}), between=0.03)
    found = verify(save(Verdict.ONE_DEVICE, best_distributed=distributed), engine=engine)
    assert (found.answer, found.challenger) == (Answer.HOLDS, Configuration())
    assert found.summary.endswith("as fast as the Keras defaults at a batch of 32.")
    assert any("cannot run here" in note for note in found.notes) is bool(distributed)


def test_with_no_rival_at_all_it_holds_if_it_runs() -> None:
    """Keras's own settings on one device, and nothing else that was found."""
    saved = save(Verdict.ONE_DEVICE, configuration=Configuration(), best_distributed=None)
    found = verify(saved, engine=FakeEngine(lambda _: 900.0, between=0.01))
    assert (found.answer, found.challenger, found.ratio) == (Answer.HOLDS, None, None)
    assert found.ratio_to_expected.low < 0.9 < found.ratio_to_expected.high


def test_what_cannot_run_here_is_not_refuted() -> None:
    """Another machine than that of the search tells nothing of it, without a run."""
    engine = FakeEngine(lambda _: 1000.0)
    wide = PAIR.but(replicas_per_worker=8)
    with pytest.raises(NotVerified, match="too few for 8 replicas"):
        verify(save(Verdict.DISTRIBUTE, configuration=wide), engine=engine)
    assert engine.requests == []


@pytest.mark.parametrize("distributed", [None, PAIR])
def test_where_every_run_fails_nothing_is_refuted(distributed: Configuration | None) -> None:
    """Broken is then what both need; the reason is told."""
    saved = save(Verdict.ONE_DEVICE, best_distributed=distributed)
    with pytest.raises(NotVerified, match="killed by SIGSEGV"):
        verify(saved, engine=FakeEngine(lambda _: CRASH))


def test_a_program_that_crashes_fails() -> None:
    """A second crash is no accident; the reason is told, and no more time is spent."""
    found = check(Verdict.DISTRIBUTE, pair=CRASH)
    assert found.answer is Answer.FAILS
    assert "killed by SIGSEGV" in found.summary
    assert len(found.trials) == 4


def test_one_accident_is_forgiven() -> None:
    endings = iter([CRASH])

    def speed(configuration: Configuration) -> float | Ending:
        return next(endings, 1500.0) if configuration == PAIR else 1000.0

    found = verify(save(Verdict.DISTRIBUTE), engine=FakeEngine(speed, between=0.03))
    assert found.answer is Answer.HOLDS
    assert found.pairs < len(found.trials) / 2


def test_a_rival_that_crashes_decides_nothing() -> None:
    found = check(Verdict.DISTRIBUTE, alone=CRASH)
    assert found.answer is Answer.UNCLEAR
    assert "its challenger was not measured (crashed)" in found.summary
    assert found.examples_per_second is not None


@pytest.mark.parametrize(
    "error",
    [FactoryFailed, FactoryNotFound, ScriptFailed, DatasetTooSmall],
    ids=lambda e: e.__name__,
)
def test_a_workload_that_fails_today_refutes_nothing(error: type[WorkloadError]) -> None:
    """Nothing was timed; the cause and its next step are told."""
    engine = FakeEngine(lambda _: 1000.0)
    engine.inspect = Mock(side_effect=error("model_fn raised KeyError.", "Correct it."))
    with pytest.raises(NotVerified) as caught:
        verify(save(Verdict.ONE_DEVICE), engine=engine)
    assert caught.value.cause.endswith("model_fn raised KeyError.")
    assert caught.value.next_step == "Correct it."
    assert caught.value.exit_code == 3


def test_another_machine_software_and_workload_are_named() -> None:
    """What it was and what it is; none where all is as it was. All of the data is trained on."""
    speeds = table({ALONE: 1000.0, PAIR: 1500.0})
    other = fake_machine(cpus=4).model_copy(update={"keras": "9.9"})
    grown = FAKE_FACTS.model_copy(update={"examples": 20_000})
    engine = FakeEngine(speeds, machine=other, facts=grown)
    assert verify(save(Verdict.DISTRIBUTE), engine=engine).notes == (
        "Measured on another machine: CPU cores 2 then, 4 now.",
        "Measured with other software versions: Keras 3.15.0 then, 9.9 now.",
        "The workload has changed: examples 10,000 then, 20,000 now.",
    )
    assert "EXAMPLES = 20000" in engine.requests[0].script
    assert verify(save(Verdict.DISTRIBUTE), engine=FakeEngine(speeds)).notes == ()


def test_the_throughput_is_compared_with_what_was_expected() -> None:
    """Both uncertainties are in the interval of the share."""
    found = check(Verdict.ONE_DEVICE, alone=800.0, pair=400.0)
    share, today = found.ratio_to_expected, found.examples_per_second
    assert share.low < 0.8 < share.high
    assert share.high / share.low > today.high / today.low


def test_what_a_search_hands_over_can_be_verified(tmp_path: Path) -> None:
    """Its file holds all that is needed: on the same machine the recommendation holds."""

    def speed(configuration: Configuration) -> float:
        return 1000.0 * (1.6 if configuration.distributed else 1.0)

    axes = {"per_replica_batch": [32, 64], "replicas_per_worker": [2]}
    space = parse_space({"strategies": ["one_device", "mirrored"], "axes": axes}, where="test")
    options = SearchOptions(margin=0.05, budget=60.0)
    request = TuningRequest(workload=WORKLOAD, space=space, out=tmp_path, options=options)
    result = tune(request, FakeEngine(speed, between=0.03))
    saved = load_configuration(tmp_path / "config.yaml")
    assert not saved.one_device.distributed
    assert (saved.best_distributed, saved.margin) == (result.config, 0.05)
    assert saved.best_distributed_speedup == result.best_distributed_speedup
    found = verify(tmp_path / "config.yaml", engine=FakeEngine(speed, between=0.03, seed=1))
    assert (found.answer, found.challenger) == (Answer.HOLDS, saved.one_device)


def test_the_order_within_a_pair_is_random() -> None:
    """Each comes first now and then, by the seed, and each run is told as it ends."""

    def order(seed: int) -> list[Configuration]:
        events: list[Event] = []
        engine = FakeEngine(table({ALONE: 1000.0, PAIR: 1010.0}), between=0.1)
        saved = save(Verdict.ONE_DEVICE)
        found = verify(saved, engine=engine, seconds=30, seed=seed, observer=events.append)
        assert [e.trial for e in events if isinstance(e, TrialEnded)] == [*found.trials]
        return [request.configuration for request in engine.requests[::2]]

    assert {*order(0)} == {ALONE, PAIR}
    assert order(0) == order(0)
    assert len({tuple(order(seed)) for seed in range(4)}) > 1


def test_a_function_that_is_written_down_in_full_needs_no_module(tmp_path: Path) -> None:
    """Its program is all that there is to run, and it holds the text."""
    written = factory_from_callable(lambda units=8: units)
    own = WORKLOAD.model_copy(update={"model": written})
    path, facts = tmp_path / "config.yaml", tmp_path / "result.json"
    saved = save(Verdict.ONE_DEVICE, workload=own)
    facts.write_text(saved.model_dump_json(exclude=PICKLES))
    save_configuration(saved, path, facts)
    engine = FakeEngine(table({ALONE: 1000.0, PAIR: 500.0}))
    assert verify(path, engine=engine).answer is Answer.HOLDS
    assert "lambda units=8: units" in engine.requests[0].script


def test_a_function_that_a_file_cannot_hold_is_a_wrong_call() -> None:
    missing = object()
    torn = factory_from_callable(lambda: missing).model_copy(update={"pickled": b""})
    own = WORKLOAD.model_copy(update={"model": torn})
    with pytest.raises(FactoryNotFound, match=r"cannot be loaded from a file.*result\.saved"):
        verify(save(Verdict.ONE_DEVICE, workload=own))


@pytest.mark.parametrize(("scale", "answer"), [(1e9, Answer.HOLDS), (1e-3, Answer.FAILS)])
def test_a_larger_batch_is_checked_by_what_it_teaches(scale: float, answer: Answer) -> None:
    """Twice the examples per second are progress where gradients are noise, and not elsewhere."""
    large, own = Configuration(per_replica_batch=512), Configuration()
    chosen = {"configuration": large, "one_device": large, "best_distributed": None}
    saved = save(Verdict.ONE_DEVICE, objective="time_to_loss", **chosen)
    facts = saved.facts.model_copy(update={"learning": fake_learning(scale)})
    saved = saved.model_copy(update={"facts": facts})
    found = verify(saved, engine=FakeEngine(table({large: 2000.0, own: 1000.0}), between=0.02))
    assert found.answer is answer
    assert "fast to the same loss as the Keras defaults" in found.summary
