"""`autotune doctor` on the fake engine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from autotune.testing import FakeEngine
from autotune.verification.aa_test import built_in

Run = Callable[..., Result]


def test_the_noise_is_told(run: Run) -> None:
    """In figures on stdout, a line for each run on stderr."""
    done = run("doctor")
    assert done.exit_code == 0
    for words in ("Run-to-run variation", "between runs", "within a run", "A/A ratio", "10 min"):
        assert words in done.stdout
    assert "measured" in done.stderr


def test_json_is_one_document_alone_on_stdout(run: Run, engine: FakeEngine) -> None:
    """Each figure has its name."""
    read = json.loads(run("doctor", "--json", "--seconds", "30").stdout)
    assert read["between"]["low"] < read["between"]["value"] < read["between"]["high"]
    assert [each["seconds"] for each in read["resolutions"]] == [60, 180, 600]
    assert read["seconds"] <= 30
    assert engine.requests[0].workload == built_in()


def test_the_users_own_workload_is_trained(run: Run, engine: FakeEngine) -> None:
    """With the arguments that were given."""
    own = ("--model", "mine.py:model_fn", "--dataset", "mine.py:dataset_fn")
    assert run("doctor", *own, "--model-arg", "units=8").exit_code == 0
    model = engine.requests[0].workload.model
    assert (model.short_name, model.arguments) == ("mine:model_fn", (("units", 8),))


@pytest.mark.parametrize("half", [("--model", "mine.py:model_fn"), ("--dataset-arg", "rows=8")])
def test_half_a_workload_is_a_wrong_call(
    run: Run, engine: FakeEngine, half: tuple[str, str]
) -> None:
    """The message says what is missing."""
    done = run("doctor", *half)
    assert done.exit_code == 2
    assert "--model and --dataset" in done.stderr
    assert engine.requests == []
