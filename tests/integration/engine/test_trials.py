"""What a trial's process finds, and what is told of it when it ends badly."""

import json
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest

from autotune.engine.base import Limits, RunResult
from autotune.engine.local import LocalEngine
from autotune.errors import EngineError
from autotune.reason import Killed, Outcome, Raised
from autotune.reason.sentences import reason_text
from autotune.strategies import Role
from autotune.workload import Factory, Workload
from tests.trials import request_for, stop_at_once

pytestmark = pytest.mark.real

Run = Callable[..., RunResult]
HEAD = "import json, os, sys, time\ndef main(argv, callbacks):\n"
WHAT = "argv, os.getcwd(), sys.path, dict(os.environ), sorted(sys.modules)"
TELL = f"{HEAD}    print(json.dumps([{WHAT}]))\n"


@pytest.fixture
def run(engine: LocalEngine, tmp_path: Path) -> Run:

    def run(program: str, folder: str = "trial", **fields: object) -> RunResult:
        return engine.execute(request_for(program, tmp_path / folder, **fields), stop_at_once)

    return run


def test_a_full_disk_is_named(run: Run) -> None:
    """Also where the process can leave no word of it."""
    result = run("full_disk")
    assert result.outcome is Outcome.CRASHED
    assert "the disk is full" in reason_text(result.reason)


def test_a_program_finds_what_it_would_find_by_itself(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in the tuner's folder, with its own folder first on the path, and no TF_CONFIG."""
    monkeypatch.setenv("TF_CONFIG", "of the tuner")
    monkeypatch.chdir(tmp_path)
    run(TELL, roles=(Role(gpus=(1, 3)),), seed=7)
    told = (tmp_path / "trial" / "output-0.txt").read_text().splitlines()[0]
    argv, folder, path, environment, modules = json.loads(told)
    assert argv[:4] == ["--epochs", "1000000000", "--seed", "7"]
    assert argv[4:] == ["--no-validation", "--no-resume"]
    assert (folder, path[0]) == (str(tmp_path), str(tmp_path / "trial"))
    assert "TF_CONFIG" not in environment
    assert environment["CUDA_VISIBLE_DEVICES"] == "1,3"
    assert {"keras", "autotune_train"} <= set(modules)
    assert not {"pydantic", "train", "optuna"} & set(modules)


def test_a_factory_by_value_replaces_the_program_s(run: Run) -> None:
    word = "shipped"
    pickled = cloudpickle.dumps(lambda: word)
    factory = Factory(name="<lambda>", pickled=pickled)
    program = "model_fn = None\n" + HEAD + "    raise ValueError(model_fn())\n"
    result = run(program, workload=Workload(model=factory, dataset=factory))
    assert "ValueError: shipped" in reason_text(result.reason)


def test_an_error_is_told_with_its_place(run: Run) -> None:
    """The reason names the error and the line, the detail shows the traceback."""
    result = run("raises")
    assert result.outcome is Outcome.FAILED
    assert result.reason == Raised(
        error="ValueError", message="the labels are upside down", where="train.py line 6"
    )
    assert "raise ValueError(msg)" in result.detail


@pytest.mark.parametrize(
    ("body", "outcome", "words"),
    [
        ("sys.exit(3)", Outcome.FAILED, "SystemExit: 3"),
        ("os._exit(0)", Outcome.CRASHED, "exited with code 0 without a result"),
        ("pass", Outcome.FAILED, "Training ended before"),
        ("return syntax error", Outcome.FAILED, "SyntaxError: invalid syntax (train.py line 3)"),
    ],
)
def test_every_other_end_has_a_name(run: Run, body: str, outcome: Outcome, words: str) -> None:
    result = run(HEAD + f"    {body}\n")
    assert result.outcome is outcome
    assert words in reason_text(result.reason)


def test_a_fault_shows_where_it_happened(run: Run) -> None:
    """The detail of a crash holds what the process printed, and its Python stack."""
    result = run("dies")
    assert result.reason == Killed(signal=signal.SIGSEGV)
    assert "the last words" in result.detail
    assert "train.py" in result.detail


def test_memory_is_counted_with_that_of_descendants(run: Run) -> None:
    child = (
        "import time; held = [bytearray(b'x' * (16 << 20)) for _ in range(64)]; time.sleep(1000)"
    )
    body = f"    import subprocess; subprocess.run([sys.executable, '-c', {child!r}])\n"
    result = run(HEAD + body, limits=Limits(memory=1 << 30))
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert 1 << 30 < result.peak_memory < 1 << 32
    assert "1.0 GiB" in reason_text(result.reason)


def test_no_temporary_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial leaves among the temporary files goes with its engine."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    monkeypatch.setenv("TMPDIR", str(theirs))
    monkeypatch.setattr(tempfile, "tempdir", str(theirs))
    leaves = f"{HEAD}    import tempfile; print(tempfile.mkdtemp())\n"
    with LocalEngine() as own:
        own.execute(request_for(leaves, tmp_path / "trial"), stop_at_once)
    assert str(theirs) in (tmp_path / "trial" / "output-0.txt").read_text()
    assert not list(theirs.iterdir())


def test_what_cannot_be_imported_is_an_error_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what the import said."""
    (tmp_path / "tensorflow.py").write_text("raise ImportError('no such luck')")
    monkeypatch.syspath_prepend(tmp_path)
    with LocalEngine() as broken, pytest.raises(EngineError, match=r"no such luck.*Check that"):
        broken.machine()


@pytest.mark.parametrize("backend", ["numpy", "no_such_backend"])
def test_another_backend_of_keras_is_an_error_of_the_engine(backend: str) -> None:
    """Whether it is there or not; what tf.distribute trains is TensorFlow's."""
    told = rf"computes with {backend} .*Set KERAS_BACKEND=tensorflow"
    with LocalEngine({"KERAS_BACKEND": backend}) as other, pytest.raises(EngineError, match=told):
        other.machine()
