"""Whether a saved recommendation still holds, on a machine whose truth is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from autotune import (
    DatasetTooSmall,
    FactoryFailed,
    FactoryNotFound,
    NotVerified,
    Outcome,
    ScriptFailed,
    Verdict,
    Verification,
    VerificationOutcome,
    WorkloadError,
    verify,
)
from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.events import Event, TrialEnded
from autotune.options import SearchOptions
from autotune.reason import Killed
from autotune.result import SavedConfiguration, load_configuration
from autotune.result.stored import PICKLES, save_configuration
from autotune.search.setup import TuningRequest
from autotune.search.tune import tune
from autotune.space import parse_space
from autotune.versions import VERSION
from autotune.workload import factory_from_callable
from tests.answers import answer_of
from tests.engines.fake import (
    FAKE_FACTS,
    FAKE_MACHINE,
    FakeEngine,
    fake_learning,
    fake_machine,
    table,
)
from tests.trials import ended_trial
from tools.docs.samples import WORKLOAD

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)
CRASH = Stop(outcome=Outcome.CRASHED, reason=Killed(signal=11))


def save(
    verdict: Verdict, told: Mapping[str, Any] | None = None, **changes: Any
) -> SavedConfiguration:
    """Return a recommendation with a verdict: the pair for "distribute", else one device."""
    winner = changes.get("configuration", PAIR if verdict is Verdict.DISTRIBUTE else ALONE)
    ran = dict.fromkeys((winner, ALONE, PAIR))
    trials = [
        ended_trial(n, configuration=c, examples_per_second=1000.0) for n, c in enumerate(ran)
    ]
    told = {"one_device": ALONE, "several": PAIR, "own": Configuration(), **(told or {})}
    return SavedConfiguration(
        **{
            "autotune": VERSION,
            "configuration": winner,
            "answer": answer_of(trials, winner, **told),
            "facts": FAKE_FACTS,
            "machine": FAKE_MACHINE,
            "workload": WORKLOAD,
            **changes,
        }
    )


def check(
    verdict: Verdict,
    *,
    alone: float | Stop = 1000.0,
    pair: float | Stop = 1000.0,
    noise: float = 0.03,
    seed: int = 0,
    seconds: float = 50.0,
    **changes: Any,
) -> Verification:
    """Verify a verdict on a machine with some speeds, by default a quiet one."""
    engine = FakeEngine(table({ALONE: alone, PAIR: pair}), between=noise, seed=seed)
    return verify(save(verdict, **changes), engine=engine, seconds=seconds)


@pytest.mark.parametrize(
    ("verdict", "pair", "outcome"),
    [
        (Verdict.DISTRIBUTE, 1500.0, VerificationOutcome.HOLDS),
        (Verdict.DISTRIBUTE, 700.0, VerificationOutcome.FAILS),
        (Verdict.ONE_DEVICE, 700.0, VerificationOutcome.HOLDS),
        (Verdict.ONE_DEVICE, 1500.0, VerificationOutcome.FAILS),
        (Verdict.UNDECIDED, 700.0, VerificationOutcome.HOLDS),
        (Verdict.UNDECIDED, 1500.0, VerificationOutcome.FAILS),
    ],
)
def test_the_truth_decides(verdict: Verdict, pair: float, outcome: VerificationOutcome) -> None:
    found = check(verdict, pair=pair)
    assert found.outcome is outcome
    assert found.seconds < 40
    truth = pair / 1000 if verdict is Verdict.DISTRIBUTE else 1000 / pair
    assert found.ratio.value == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("verdict", [Verdict.DISTRIBUTE, Verdict.ONE_DEVICE])
def test_a_small_difference_on_a_noisy_machine_is_unclear(verdict: Verdict) -> None:
    """All of the time is used, and the text says that nothing was refuted."""
    found = check(verdict, pair=1030.0, noise=0.1)
    assert found.outcome is VerificationOutcome.UNCLEAR
    assert found.summary.startswith("Inconclusive")
    assert "allow more time" in found.summary
    assert 40 < found.seconds <= 50


@pytest.mark.parametrize(
    ("verdict", "pair", "margin", "outcome"),
    [
        (Verdict.DISTRIBUTE, 1010.0, 0.2, VerificationOutcome.FAILS),
        (Verdict.ONE_DEVICE, 1300.0, 0.02, VerificationOutcome.FAILS),
        (Verdict.ONE_DEVICE, 1300.0, 0.6, VerificationOutcome.HOLDS),
    ],
)
def test_the_saved_margin_decides(
    verdict: Verdict, pair: float, margin: float, outcome: VerificationOutcome
) -> None:
    """A gain below it, surely above zero, is no reason to distribute."""
    found = check(verdict, pair=pair, noise=0.001, seconds=400, margin=margin)
    assert found.outcome is outcome
    assert ("a gain of less than 20%" in found.summary) is (verdict is Verdict.DISTRIBUTE)


@pytest.mark.parametrize("distributed", [None, PAIR.but(replicas_per_worker=8)])
def test_without_a_distributed_rival_the_own_settings_are_one(
    distributed: Configuration | None,
) -> None:
    """Do the tuned settings still beat the user's own? A note names what cannot run."""
    engine = FakeEngine(table({ALONE: 1500.0, Configuration(): 1000.0}), between=0.03)
    found = verify(save(Verdict.ONE_DEVICE, {"several": distributed}), engine=engine)
    assert (found.outcome, found.challenger) == (VerificationOutcome.HOLDS, Configuration())
    assert found.summary.endswith("as fast as your own settings.")
    assert any("cannot run here" in note for note in found.notes) is bool(distributed)


def test_with_no_rival_at_all_it_holds_if_it_runs() -> None:
    """The own settings on one device, and nothing else that was found."""
    saved = save(Verdict.ONE_DEVICE, {"several": None}, configuration=Configuration())
    found = verify(saved, engine=FakeEngine(lambda _: 900.0, between=0.01))
    assert found.outcome is VerificationOutcome.HOLDS
    assert (found.challenger, found.ratio) == (None, None)
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
    saved = save(Verdict.ONE_DEVICE, {"several": distributed})
    with pytest.raises(NotVerified, match="killed by SIGSEGV"):
        verify(saved, engine=FakeEngine(lambda _: CRASH))


def test_a_program_that_crashes_fails() -> None:
    """A second crash is no accident; the reason is told."""
    found = check(Verdict.DISTRIBUTE, pair=CRASH)
    assert found.outcome is VerificationOutcome.FAILS
    assert "killed by SIGSEGV" in found.summary


def test_one_accident_is_forgiven() -> None:
    endings = iter([CRASH])

    def speed(configuration: Configuration) -> float | Stop:
        return next(endings, 1500.0) if configuration == PAIR else 1000.0

    found = verify(save(Verdict.DISTRIBUTE), engine=FakeEngine(speed, between=0.03))
    assert found.outcome is VerificationOutcome.HOLDS


def test_a_rival_that_crashes_decides_nothing() -> None:
    with pytest.raises(NotVerified, match="killed by SIGSEGV"):
        check(Verdict.DISTRIBUTE, alone=CRASH)


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
    options = SearchOptions(margin=0.05, train_for="10h")
    request = TuningRequest(workload=WORKLOAD, space=space, out=tmp_path, options=options)
    result = tune(request, FakeEngine(speed, between=0.03))
    saved = load_configuration(tmp_path / "config.yaml")
    assert (saved.answer, saved.margin) == (result.answer, 0.05)
    found = verify(tmp_path / "config.yaml", engine=FakeEngine(speed, between=0.03, seed=1))
    assert (found.outcome, found.challenger) == (VerificationOutcome.HOLDS, saved.answer.one_device)


def test_it_is_a_search_among_two_that_tells_each_run() -> None:
    """Nothing else runs, and its answer is that of the last one."""
    events: list[Event] = []
    engine = FakeEngine(table({ALONE: 1000.0, PAIR: 500.0}), between=0.1)
    found = verify(save(Verdict.ONE_DEVICE), engine=engine, observer=events.append)
    ended = [each for each in events if isinstance(each, TrialEnded)]
    assert [each.trial for each in ended] == [*found.trials]
    assert {t.configuration for t in found.trials} == {ALONE, PAIR}
    assert ended[-1].answer.entries == found.answer.entries


def test_a_function_that_is_written_down_in_full_needs_no_module(tmp_path: Path) -> None:
    """Its program is all that there is to run, and it holds the text."""
    written = factory_from_callable(lambda units=8: units)
    own = WORKLOAD.model_copy(update={"model": written})
    path, facts = tmp_path / "config.yaml", tmp_path / "result.json"
    saved = save(Verdict.ONE_DEVICE, workload=own)
    facts.write_text(saved.model_dump_json(exclude=PICKLES))
    save_configuration(saved, path, facts)
    engine = FakeEngine(table({ALONE: 1000.0, PAIR: 500.0}))
    assert verify(path, engine=engine).outcome is VerificationOutcome.HOLDS
    assert "lambda units=8: units" in engine.requests[0].script


def test_a_function_that_a_file_cannot_hold_is_a_wrong_call() -> None:
    missing = object()
    torn = factory_from_callable(lambda: missing).model_copy(update={"pickled": b""})
    own = WORKLOAD.model_copy(update={"model": torn})
    with pytest.raises(FactoryNotFound, match=r"cannot be loaded from a file.*result\.saved"):
        verify(save(Verdict.ONE_DEVICE, workload=own))


@pytest.mark.parametrize(
    ("scale", "outcome"), [(1e9, VerificationOutcome.HOLDS), (1e-3, VerificationOutcome.FAILS)]
)
def test_a_larger_batch_is_checked_by_what_it_teaches(
    scale: float, outcome: VerificationOutcome
) -> None:
    """Twice the examples per second are progress where gradients are noise, and not elsewhere."""
    large, own = Configuration(per_replica_batch=512), Configuration()
    told = {"one_device": large, "several": None}
    saved = save(Verdict.ONE_DEVICE, told, objective="time_to_loss", configuration=large)
    facts = saved.facts.model_copy(update={"learning": fake_learning(scale)})
    saved = saved.model_copy(update={"facts": facts})
    found = verify(saved, engine=FakeEngine(table({large: 2000.0, own: 1000.0}), between=0.02))
    assert found.outcome is outcome
    assert "fast to the same loss as your own settings" in found.summary
