"""`autotune run train.py` in place of `python train.py`, whatever was fast."""

from pathlib import Path

import pytest

from .conftest import Done, Run, counted

pytestmark = pytest.mark.real

SCRIPT = """\
import sys
import keras, numpy as np

print("begins")
x, y = np.ones((640, 8), "float32"), np.ones((640, 1))
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(int(sys.argv[1]))])
model.compile("sgd", "mse")
model.fit(x, y, epochs=2, verbose=0)
print("trained", int(model.optimizer.iterations.numpy()) > 0, *sys.argv[1:])
sys.exit(int(sys.argv[-1]))
"""
SEARCH = (
    *("--space", "quick", "--strategies", "one_device"),
    *("--objective", "max_throughput", "--train-for", "900h", *counted(3, 1000)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("my training")
    (folder / "train.py").write_text(SCRIPT)
    return folder


@pytest.fixture(scope="module")
def first(run: Run, folder: Path) -> Done:
    return run("run", *SEARCH, "train.py", "4", "--budget", "3", folder=folder)


def trials(folder: Path) -> list[Path]:
    return sorted((folder / "autotune-out" / "trials").glob("*/*"))


def test_it_searches_and_then_trains(first: Done) -> None:
    """The arguments are the script's, the exit code is that of the training, as is stdout."""
    assert first.returncode == 3, first.stderr
    assert first.stdout == "begins\ntrained True 4 --budget 3\n"
    assert "measured" in first.stderr
    assert "Settings: one device, batch" in first.stderr


def test_the_second_run_trains_at_once(first: Done, run: Run, folder: Path) -> None:
    before = trials(folder)
    done = run("run", *SEARCH, "train.py", "4", "--budget", "3", folder=folder)
    assert (done.returncode, done.stdout) == (3, first.stdout), done.stderr
    assert "Training with the result of " in done.stderr
    assert "measured" not in done.stderr
    assert before
    assert trials(folder) == before


def test_a_search_that_would_not_pay_simply_trains(run: Run, folder: Path) -> None:
    """The training is over before a trial is."""
    done = run("run", "--out", "short", "train.py", "4", "0", folder=folder)
    assert (done.returncode, done.stdout) == (0, "begins\ntrained True 4 0\n"), done.stderr
    assert "python train.py 4 0" in done.stderr
