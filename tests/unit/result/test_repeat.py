"""The command that asks for the same search again."""

from __future__ import annotations

from autotune.options import SearchOptions
from autotune.result import Result
from autotune.result.repeat import repeat
from autotune.search.request import TuningRequest
from autotune.search.tune import tune
from autotune.testing import FakeEngine
from autotune.workload import Factory, Workload


def test_it_holds_all_that_was_asked_for(result: Result) -> None:
    """Files, arguments and bounds come as the command line takes them."""
    options = SearchOptions(
        budget=90.0,
        max_trials=12,
        global_batch=64,
        strategies=("mirrored",),
        workers=(1, 2),
        diagnose=False,
        margin=0.1,
    )
    model = Factory(name="model_fn", module="digits", root="examples", arguments=(("units", 5),))
    dataset = Factory(name="make", module="package.data", root=".", arguments=(("full", True),))
    workload = Workload(model=model, dataset=dataset)
    given = result.model_copy(
        update={"space": "my space.yaml", "options": options, "workload": workload}
    )
    assert repeat(given).command == (
        "autotune tune examples/digits.py:model_fn package.data:make --space 'my space.yaml' "
        "--budget 90s --max-trials 12 --margin 0.1 --no-diagnose --seed 0 --global-batch 64 "
        "--strategies mirrored --workers 1,2 --model-arg units=5 --dataset-arg full=true"
    )


def test_what_a_command_cannot_hold_is_told(result: Result) -> None:
    """A reader is not sent away with half of the call."""
    notes = repeat(result.model_copy(update={"space": None})).notes
    assert "created in Python" in " ".join(notes)


def test_a_function_of_a_notebook_is_told(result: Result) -> None:
    """The command names nothing that it could find."""
    model = result.workload.model.model_copy(update={"module": ""})
    workload = result.workload.model_copy(update={"model": model})
    notes = repeat(result.model_copy(update={"workload": workload})).notes
    assert "model_fn came from a notebook" in notes[-2]


def test_a_search_keeps_what_it_was_asked(workload: Workload, tmp_path: object) -> None:
    """The command of its result names its space, budget and seed."""
    options = SearchOptions(budget=40.0, max_trials=3, seed=7)
    request = TuningRequest(workload=workload, space="quick", options=options, out=tmp_path)  # type: ignore[arg-type]
    found = tune(request, FakeEngine(lambda c: 1000.0 / c.replicas))
    told = repeat(found).command
    assert told.endswith("--space quick --budget 40s --max-trials 3 --seed 7")
