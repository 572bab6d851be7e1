"""`autotune verify` on the fake engine, on which one device is faster by a factor of three."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from autotune import Verdict
from autotune.config import Configuration
from autotune.installed import VERSION
from autotune.result.saved import SavedConfiguration, save_configuration
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.workload import Workload

Run = Callable[..., Result]
ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


@pytest.fixture(autouse=True)
def _files(folder: Path, workload: Workload) -> None:
    """A recommendation that holds on the fake engine, and one that fails."""
    for verdict, winner in ((Verdict.ONE_DEVICE, ALONE), (Verdict.DISTRIBUTE, PAIR)):
        saved = SavedConfiguration(
            autotune=VERSION,
            verdict=verdict,
            configuration=winner,
            global_batch=winner.global_batch,
            one_device=ALONE,
            best_distributed=PAIR,
            workload=workload,
            facts=FAKE_FACTS,
            machine=FAKE_MACHINE,
            seed=0,
        )
        save_configuration(saved, folder / f"{verdict.name.lower()}.yaml")


def test_what_holds_ends_with_zero(run: Run) -> None:
    """The answer is on stdout alone, a line for each run on stderr."""
    done = run("verify", "one_device.yaml")
    assert done.exit_code == 0
    assert done.stdout.startswith("Confirmed: one device is ")
    assert "measured" in done.stderr
    assert "measured" not in done.stdout


def test_what_fails_ends_with_one(run: Run) -> None:
    """For a script that asks, the exit code is the answer."""
    done = run("verify", "distribute.yaml")
    assert done.exit_code == 1
    assert done.stdout.startswith("Refuted: ")


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_what_is_unclear_fails_only_if_asked_to(
    run: Run, strict: tuple[str, ...], code: int
) -> None:
    """Two seconds are enough for nothing."""
    done = run("verify", "one_device.yaml", "--seconds", "2", *strict)
    assert done.exit_code == code
    assert done.stdout.startswith("Inconclusive")


def test_json_is_one_document_alone_on_stdout(run: Run) -> None:
    """It holds the answer, the ratio and the runs without their windows."""
    done = run("verify", "distribute.yaml", "--json")
    read = json.loads(done.stdout)
    assert done.exit_code == 1
    assert read["answer"] == "fails"
    assert read["ratio"]["high"] < 1
    assert len(read["trials"]) == 2 * read["pairs"]
    assert "windows" not in read["trials"][0]


def test_what_a_search_wrote_can_be_verified(tune: Run, run: Run) -> None:
    """The folder's configuration is enough."""
    tune()
    done = run("verify", "autotune-out/config.yaml")
    assert done.exit_code == 0
    assert "Confirmed" in done.stdout


@pytest.mark.parametrize(
    "words", [("nosuch.yaml",), ("mine.py",), (), ("x.yaml", "--seconds", "0")]
)
def test_a_wrong_call_ends_with_two(run: Run, engine: FakeEngine, words: tuple[str, ...]) -> None:
    """Nothing is run."""
    assert run("verify", *words).exit_code == 2
    assert engine.requests == []
