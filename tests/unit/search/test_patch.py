"""What is told of a change of the user's script: its own gain, and whether it ran."""

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop, Watch
from autotune.engine.tasks import TrialRequest
from autotune.reason import Message, Outcome
from autotune.result import Result
from autotune.result.files import programs
from autotune.workload import FitData, FitFacts, Workload, script_from_text, script_workload
from tests.engines.fake import FAKE_FACTS, FakeEngine

from .conftest import SPACE, Tuner

SCRIPT = """\
import keras
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, epochs=3)
"""
FIT = FitFacts(line=4, of="model", data=FitData.ARRAYS)
ALONE = SPACE.model_copy(
    update={
        "strategies": ("one_device",),
        "axes": {"per_replica_batch": (32,), "steps_per_execution": (1, 8)},
    }
)


def rate(configuration: Configuration) -> float:
    return 3_000.0 if configuration.steps_per_execution > 1 else 1_000.0


class Patched(FakeEngine):
    """Trains the changed script at a speed of its own; its clock may jump behind some trials."""

    def __init__(self, patched: float | Stop, jumps_after: int = 1_000) -> None:
        facts = FAKE_FACTS.model_copy(update={"examples": 1_280, "usual_batch": 32, "fit": FIT})
        super().__init__(rate, facts=facts, between=0.01)
        self._patched, self._jumps_after = patched, jumps_after

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        changed = request.own_calls and "steps_per_execution=8" in request.script
        self._speed = (lambda _: self._patched) if changed else rate
        result = super().run(request, watch)
        self._time += 1_000.0 * (len(self.requests) >= self._jumps_after)
        return result


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    (tmp_path / "script.py").write_text(SCRIPT)
    return script_workload(script_from_text(str(tmp_path / "script.py")))


def tuned(tuner: Tuner, engine: FakeEngine, **options: object) -> Result:
    return tuner(rate, engine=engine, space=ALONE, options={"budget": 300.0, **options})


def test_the_gain_of_a_patch_is_that_over_the_script(tuner: Tuner) -> None:
    """Not that of the program: it is 2 while that is 3; every face says it."""
    result = tuned(tuner, Patched(2_000.0))
    assert result.gain_over_yours
    assert result.patch_gain
    assert result.gain_over_yours.low < 3 < result.gain_over_yours.high
    assert result.patch_gain.value == pytest.approx(2, rel=0.1)
    assert result.patch_gain.low < result.patch_gain.value < result.patch_gain.high
    said = f"It was {result.patch_gain.value:.2f} times ("
    assert (programs(result)["train.patch"] or "").startswith(f"# {said}")
    assert any(said in each for each in result.reasons)
    assert said in result.report()


@pytest.mark.parametrize(
    ("patched", "why"),
    [
        (900.0, "The changed script was only 0."),
        (Stop(outcome=Outcome.FAILED, reason=Message(text="no such loss")), "no such loss"),
        (Stop(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text="too large")), "too large"),
    ],
    ids=["slower", "failed", "out of memory"],
)
def test_a_patch_that_gains_nothing_or_does_not_train_is_not_delivered(
    tuner: Tuner, patched: float | Stop, why: str
) -> None:
    result = tuned(tuner, Patched(patched))
    assert result.config.steps_per_execution == 8
    assert not result.patch
    assert why in result.why_no_patch
    assert programs(result)["train.patch"] is None


@pytest.mark.parametrize(
    ("jumps_after", "options", "said"),
    [
        (2, {"max_trials": 2}, "It was not run: no time was left."),
        (3, {"max_trials": 2}, "It ran once; its gain over your script was not timed: no time"),
        (1_000, {"train_for": 240.0}, "It was not run"),
    ],
    ids=["no time", "no time for the script", "not asked for"],
)
def test_a_patch_whose_gain_is_not_known_says_so(
    tuner: Tuner, jumps_after: int, options: dict[str, object], said: str
) -> None:
    result = tuned(tuner, Patched(2_000.0, jumps_after), **options)
    assert result.patch_gain is None
    assert (programs(result)["train.patch"] or "").startswith(f"# {said}")
    assert any(said in each for each in result.reasons)
