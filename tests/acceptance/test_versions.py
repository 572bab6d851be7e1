"""What the versions of an environment decide, and a call from Python, in whichever is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import python

from .conftest import HANGS

KERAS = "class backend:\n    backend = staticmethod(lambda: 'tensorflow')\n__version__ = '{}'\n"
FLOORS = ("2.16.0", "3.8.0")
CALLED = """
import autotune
import keras
import numpy as np
import tensorflow as tf

def model_fn():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def dataset_fn():
    return tf.data.Dataset.from_tensor_slices((np.ones((64, 4), "f4"), np.ones((64, 1), "f4")))

if __name__ == "__main__":
    asked = {"space": "quick", "strategies": ("one_device",), "max_trials": 1}
    result = autotune.tune(model_fn, dataset_fn, **asked)
    result.fit(epochs=1)
    print([each.outcome for each in result.trials], result.machine.keras)
"""


@pytest.mark.parametrize(
    ("tensorflow", "keras", "told"),
    [
        (
            "2.15.1",
            FLOORS[1],
            "TensorFlow 2.15.1 is too old: autotune needs TensorFlow 2.16 or newer.",
        ),
        (FLOORS[0], "2.15.0", "Keras 2.15.0 is too old: autotune needs Keras 3.8 or newer"),
        (FLOORS[0], "3.7.0", "Keras 3.7.0 is too old"),
    ],
)
def test_versions_below_the_floors_are_refused(
    tensorflow: str, keras: str, told: str, tmp_path: Path
) -> None:
    """Before the script or anything else runs, with what to install."""
    stubs = {"tensorflow": f"__version__ = '{tensorflow}'\n", "keras": KERAS.format(keras)}
    for name, text in stubs.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "script.py").write_text("open('ran', 'w')\nmodel.fit([1], [1])\n")
    call = [sys.executable, "-m", "autotune", "tune", "script.py"]  # finds them in this folder
    done = subprocess.run(
        call, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 3, done.stderr
    assert told in done.stderr
    assert "pip install" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "ran").exists()


@pytest.mark.real
def test_a_call_from_python_searches_and_trains(tmp_path: Path) -> None:
    """With factories of the calling file; the result trains by its program."""
    (tmp_path / "called.py").write_text(CALLED)
    assert "measured" in python(tmp_path, "called.py")
