"""Trials, a card and a result to be shown, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from autotune.config import Configuration
from autotune.plan import Plan
from autotune.reason import Message, Outcome
from autotune.result import Result, Verdict
from autotune.result.verdict import Conclusion, Decision, Grounds
from autotune.search.tune import TuningRequest, dry_run
from autotune.stats import Interval
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.trial import Stage, Trial
from autotune.window import Window
from autotune.workload import Workload

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=64, shard_policy="data"
)
MakeTrial = Callable[..., Trial]
Draw = Callable[..., str]
Changed = Callable[..., Result]


@pytest.fixture(name="make_trial")
def fixture_make_trial() -> MakeTrial:
    """Makes a measured trial, or another one."""

    def make(number: int, configuration: Configuration = ALONE, **changes: Any) -> Trial:
        stage = Stage.EXPLORE if configuration.distributed else Stage.BASELINE
        fields = {
            "stage": stage,
            "outcome": Outcome.MEASURED,
            "reason": Message(text="throughput measured"),
            "examples_per_second": 1000.0,
            "windows": (Window(4, 0.1),),
            "wall_seconds": 3.0,
        }
        return Trial(number=number, configuration=configuration, **fields | changes)

    return make


@pytest.fixture
def trials(make_trial: MakeTrial) -> tuple[Trial, ...]:
    """A search: two measured, one that crashed, and two rounds of finals."""
    crash = {"outcome": Outcome.CRASHED, "reason": Message(text="worker 1 was killed by SIGSEGV")}
    finals = [
        make_trial(3 + i, c, stage=Stage.FINAL, round=i // 2, examples_per_second=rate)
        for i, (c, rate) in enumerate([(ALONE, 1000), (PAIR, 1400), (ALONE, 1010), (PAIR, 1450)])
    ]
    return (
        make_trial(0),
        make_trial(1, PAIR, examples_per_second=1500.0),
        make_trial(2, GANG, examples_per_second=None, windows=(), **crash),
        *finals,
    )


@pytest.fixture
def card_plan(workload: Workload) -> Plan:
    """The card of the quick space on the fake machine."""
    request = TuningRequest(workload=workload, space="quick", out=Path("out"))
    return dry_run(request, FakeEngine(lambda _: 1.0))


@pytest.fixture
def result(workload: Workload, trials: tuple[Trial, ...]) -> Result:
    """A result that recommends to distribute."""
    gain = Interval(low=1.21, value=1.42, high=1.66)
    return Result(
        configuration=PAIR,
        verdict=Verdict.DISTRIBUTE,
        grounds=Grounds(
            conclusion=Conclusion.GAIN,
            decision=Decision(verdict=Verdict.DISTRIBUTE, challenger=PAIR, gain=gain, rounds=2),
            default=Configuration(),
        ),
        examples_per_second=Interval(low=1300, value=1425, high=1560),
        best_distributed_speedup=gain,
        one_device=ALONE,
        best_distributed=PAIR,
        over_default=None,
        script="print('trained')\n",
        launch=None,
        trials=trials,
        workload=workload,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        study="digits",
        seed=0,
        seconds=75.0,
    )


@pytest.fixture(name="changed")
def fixture_changed(result: Result) -> Changed:
    """Returns the result with some fields changed, and with them what follows from them."""

    def change(**changes: Any) -> Result:
        follows = {"compared", "global_batch", *changes}
        rest = {name: getattr(result, name) for name in Result.model_fields if name not in follows}
        return Result(**rest, **changes)

    return change


@pytest.fixture(name="draw")
def fixture_draw() -> Draw:
    """Renders something as a terminal of some width would show it."""

    def draw(what: RenderableType, width: int = 80) -> str:
        text = StringIO()
        Console(file=text, width=width, highlight=False).print(what)
        return text.getvalue()

    return draw
