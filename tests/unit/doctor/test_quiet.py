"""No finding in code that is right: our own, and that of TensorFlow and Keras."""

import importlib.util
from pathlib import Path

import pytest

from autotune.doctor.check import check_paths
from autotune.doctor.rules import rules
from tests.golden import golden_texts

ROOT = Path(__file__).parents[3]
OWN = ("examples", "benchmarks", "tests/integration/program/programs")
INSTALLED = (
    "tensorflow/python/distribute/distribute_lib.py",
    "tensorflow/python/distribute/mirrored_strategy.py",
    "tensorflow/python/distribute/single_loss_example.py",
    "tensorflow/python/distribute/step_fn.py",
    "tensorflow/python/distribute/coordinator",
    "keras/src/backend/tensorflow",
    "keras/src/losses",
    "keras/src/applications",
)


def installed(place: str) -> Path:
    spec = importlib.util.find_spec(place.partition("/")[0])
    assert spec
    assert spec.origin
    return Path(spec.origin).parents[1] / place


@pytest.mark.parametrize("folder", OWN)
def test_our_own_programs_are_right(folder: str) -> None:
    """What autotune shows has none of the mistakes that it finds."""
    nothing_is_found(ROOT / folder)


def test_what_autotune_writes_is_right(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in golden_texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    nothing_is_found(folder)


def nothing_is_found(folder: Path) -> None:
    report = check_paths([folder], rules())
    assert report.files
    assert report.troubles == ()
    assert [str(each.place) for each in report.findings] == []


def test_tensorflow_and_keras_are_right() -> None:
    """Code that is about strategies on every page, and that nobody would call wrong."""
    report = check_paths([installed(place) for place in INSTALLED], rules())
    assert report.files > 50
    assert report.troubles == ()
    assert [(str(each.place), each.rule) for each in report.findings] == []
