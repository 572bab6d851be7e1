"""Code to check, in a folder of its own."""

from pathlib import Path

import pytest

BAD = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
for batch in batches:
    strategy.run(lambda each: model(each), args=(batch,))
"""


@pytest.fixture
def bad() -> str:
    """A program in whose fifth line a rule finds something."""
    return BAD


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, which holds that program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path
