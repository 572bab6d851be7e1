"""`autotune tune` on the fake engine."""

import json
import signal
from pathlib import Path
from unittest.mock import Mock

import pytest

from autotune import errors
from autotune.errors import (
    AutotuneError,
    EngineError,
    Interrupted,
    NothingMeasured,
    NotVerified,
    ServiceUnreachable,
)
from tests.engines.fake import FAKE_FACTS, FakeEngine

from .conftest import run, tune

KINDS = [e for e in vars(errors).values() if isinstance(e, type) and e is not AutotuneError]


def test_the_result_is_on_stdout_and_progress_on_stderr(folder: Path) -> None:
    """A pipe gets the answer alone; the files go to the default folder."""
    done = tune()
    names = {"config.yaml", "train.py", "trials.csv", "trials.jsonl", "study.db"}
    assert names <= {each.name for each in (folder / "autotune-out").iterdir()}
    assert done.exit_code == 0
    assert done.stdout.startswith("Training ")
    assert "Train:" in done.stdout
    assert "measured" in done.stderr
    assert "Inspecting the machine" not in done.stdout


def test_quiet_leaves_the_answer() -> None:
    """On stderr stands nothing, unless something is wrong."""
    done = tune("--quiet")
    assert done.stdout.startswith("Training ")
    assert done.stderr == ""
    assert tune("--quiet", "--budget", "soon").stderr.startswith("Error: ")


def test_copies_are_the_files_of_the_folder(folder: Path) -> None:
    """A copy of the configuration finds its facts where they are."""
    (folder / "prod").mkdir()
    assert tune("--write-config", "prod/c.yaml", "--write-script", "prod/t.py").exit_code == 0
    program = (folder / "autotune-out/train.py").read_text()
    assert (folder / "prod/t.py").read_text() == program
    assert run("script", "prod/c.yaml").stdout == program


def test_options_reach_the_search(engine: FakeEngine) -> None:
    done = tune("--global-batch", "64", "--strategies", "mirrored", "--model-arg", "units=8")
    assert done.exit_code == 0
    requests = [each for each in engine.requests if not each.held]  # Those take a trial apart.
    assert {each.configuration.global_batch for each in requests} == {64}
    assert {each.configuration.strategy for each in requests} <= {"one_device", "mirrored"}
    assert requests[0].workload.model.arguments == (("units", 8),)


def test_a_model_function_that_was_forgotten_is_told(folder: Path) -> None:
    """Its file alone would be a script, and the dataset function its argument."""
    done = run("tune", "mine.py", "mine.py:dataset_fn")
    assert done.exit_code == 2
    assert "autotune tune mine.py:model_fn mine.py:dataset_fn" in done.stderr
    assert "mine.py:model_fn mine.py:dataset_fn" in run("tune", "mine.py", "mine.py").stderr
    assert run("tune", ".").stderr.startswith("Error: . is a folder.")
    (folder / "whole.py").write_text("model.fit(1)")
    assert (
        "whole script" not in run("tune", "whole.py", "--fit", "line 9", "--", "data:part").stderr
    )


def test_a_loss_that_grows_with_the_batch_keeps_it(engine: FakeEngine) -> None:
    """Two replicas may share it; another one is refused with the reason and a way out."""
    engine._facts = FAKE_FACTS.model_copy(update={"summed_loss": True, "usual_batch": 32})
    plan = json.loads(tune("--dry-run", "--json").stdout)
    axes = {each["name"]: {a["name"] for a in each["axes"]} for each in plan["strategies"]}
    assert {"one_device", "mirrored"} <= axes.keys()
    assert not any("per_replica_batch" in each for each in axes.values())
    done = tune("--global-batch", "64")
    assert (done.exit_code, engine.requests) == (2, [])
    assert "the loss is a sum over the batch, or divided by a constant" in done.stderr
    assert "compute_average_loss" in done.stderr


def test_callbacks_take_part(engine: FakeEngine, folder: Path) -> None:
    with (folder / "mine.py").open("a") as file:
        file.write("\ndef callbacks_fn(): ...\n")
    tune("--callbacks", "mine.py:callbacks_fn")
    callbacks = engine.requests[0].workload.callbacks
    assert callbacks.name == "callbacks_fn"


def test_dry_run_prints_the_card_and_runs_nothing(engine: FakeEngine, folder: Path) -> None:
    """The card is what was asked for, so it is on stdout; no file appears."""
    done = tune("--dry-run")
    assert done.exit_code == 0
    assert "per_replica_batch" in done.stdout
    read = json.loads(tune("--dry-run", "--json").stdout)
    assert (read["space"], read["budget_seconds"]) == ("quick", 20)
    assert not engine.requests
    assert not (folder / "autotune-out").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--budget soon", "soon"),
        ("--max-trials 0", "--max-trials"),
        ("--train-for=-3h", "--train-for: '-3h' is not a valid duration"),
        ("--space nosuch", "nosuch"),
        ("--nosuch", "--nosuch"),
        ("--write-config copy.txt", "file extension"),
        ("--write-config nowhere/copy.yaml", "does not exist"),
        ("--write-script nowhere/my.py", "does not exist"),
        ("--write-script .", "cannot be written"),
    ],
)
def test_a_wrong_call_ends_with_two(engine: FakeEngine, arguments: str, told: str) -> None:
    """Nobody waits minutes for it: nothing runs, and the message is on stderr alone."""
    done = tune(*arguments.split())
    assert done.exit_code == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not engine.requests


@pytest.mark.parametrize("kind", KINDS)
def test_each_error_has_its_exit_code_and_two_lines(
    monkeypatch: pytest.MonkeyPatch, kind: type[AutotuneError]
) -> None:
    """The cause and the next step, a line each, and nothing of ours around them."""
    error = kind("The cause [1] is " + "long " * 30 + "here.", "Do this.")
    monkeypatch.setattr("autotune.search.tune.tune", Mock(side_effect=error))
    done = tune()
    failed = (NothingMeasured, NotVerified, EngineError, ServiceUnreachable)
    others = {**dict.fromkeys(failed, 3), Interrupted: 130}
    assert done.exit_code == others.get(kind, 2)
    first, second = done.stderr.strip().splitlines()
    assert first.startswith("Error: The cause [1] is long")
    assert second == "Do this."


def test_every_error_names_one_of_the_promised_exit_codes() -> None:
    """Those of the service too."""
    kinds = [AutotuneError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    assert {kind.exit_code for kind in kinds[1:]} == {2, 3, 130}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_was_found(
    engine: FakeEngine, folder: Path, sent: signal.Signals
) -> None:
    """Ctrl-C, or a scheduler that ends the job, whose handler is put back."""
    before, truth = signal.getsignal(signal.SIGTERM), engine._speed

    def interrupted(configuration: object) -> object:
        if len(engine.requests) == 2:
            signal.raise_signal(sent)
        return truth(configuration)

    engine._speed = interrupted
    done = tune()
    assert done.exit_code == 130
    assert "The search was interrupted" in " ".join(done.stdout.split())
    assert "--resume" in done.stdout
    assert (folder / "autotune-out/train.py").is_file()
    assert engine.closed
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_program_that_the_disk_did_not_take_is_printed(folder: Path) -> None:
    """With what was measured; what the disk did not take is named at the end, and how to go on."""
    (folder / "autotune-out" / "train.py" / "in the way").mkdir(parents=True)
    done = tune()
    assert done.exit_code == 2
    assert "def main(" in done.stdout
    assert "autotune-out/train.py" not in done.stdout
    cause, next_step = done.stderr.strip().splitlines()[-2:]
    assert "autotune-out" in cause
    assert "--resume" in next_step


def test_ctrl_c_before_anything_ran(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """While the factories are looked at there is nothing to save."""
    monkeypatch.setattr("autotune.search.tune.tune", Mock(side_effect=KeyboardInterrupt))
    done = tune()
    assert (done.exit_code, done.stderr.strip()) == (130, "Error: Interrupted.")
    assert not (folder / "autotune-out").exists()


def test_an_error_of_our_own_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a traceback, unless the variable asks for it; 1 is left to what was found."""
    monkeypatch.setattr("autotune.search.tune.tune", lambda *_: {}["nosuch"])
    done = tune()
    assert done.exit_code == 3
    assert "KeyError: 'nosuch'" in done.stderr
    assert "AUTOTUNE_DEBUG=1" in done.stderr
    assert "Traceback" not in done.stderr
    monkeypatch.setenv("AUTOTUNE_DEBUG", "1")
    assert "Traceback" in tune().stderr
