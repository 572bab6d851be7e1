"""What `--fix` writes."""

from pathlib import Path

import pytest

from autotune.doctor.check import check_paths, check_text
from autotune.doctor.rules import rules
from autotune.doctor.source import Text, edit_file, edited

HEAD = "import tensorflow as tf\nfrom tensorflow import keras\n"


def fixed(code: str) -> str:
    """Return code with all edits that the rules propose."""
    content = HEAD + code
    report = check_text(Text(file="train.py", content=content), rules())
    found = [each.edit for each in report.findings if each.edit is not None]
    return edited(content, found).removeprefix(HEAD)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "'ä'; s = tf.distribute.experimental.TPUStrategy(r).experimental_run_v2(f)\n",
            "'ä'; s = tf.distribute.TPUStrategy(r).run(f)\n",
        ),
        (
            "o = keras.optimizers.Adam(\n    lr=0.1,\n    beta_1=0.9)\no.lr = 1\n",
            (
                "o = keras.optimizers.Adam(\n    learning_rate=0.1,\n    beta_1=0.9)\n"
                "o.learning_rate = 1\n"
            ),
        ),
        (
            "m = keras.metrics.Mean()\r\nm.reset_states()\r\n",
            "m = keras.metrics.Mean()\r\n" + ("m.reset_state()\r\n"),
        ),
        ("o = tf.distribute. \\\n  experimental.TPUStrategy()", None),
        ("model.fit(x, workers=2)\n", None),
        ("tf.distribute.experimental.MultiWorkerMirroredStrategy(RING)", None),
        ("tf.distribute.experimental.TPUStrategy(r, device_assignment=d)", None),
        ("isinstance(s, tf.distribute.experimental.TPUStrategy)", None),
        ("m = mean_loss(x)\n", None),
    ],
)
def test_only_what_is_mechanical_is_edited(code: str, expected: str | None) -> None:
    """In the middle of a line, over several lines, with any ends of lines; otherwise nothing."""
    assert fixed(code) == (code if expected is None else expected)


def test_an_edit_that_meets_other_text_is_left_out() -> None:
    """The file may have changed since it was checked."""
    report = check_text(
        Text(file="train.py", content=f"{HEAD}o = keras.optimizers.Adam(lr=0.1)\n"), rules()
    )
    (edit,) = (each.edit for each in report.findings)
    assert edit is not None
    other = f"{HEAD}o = keras.optimizers.SGD(lr=0.1)\n"
    assert edited(other, [edit]) == other


def test_encoding_and_byte_order_mark_are_kept(folder: Path) -> None:
    before = b"\xef\xbb\xbf" + f"{HEAD}x = 'ä'; o = keras.optimizers.Adam(lr=0.1)\r\n".encode()
    path = folder / "mine.py"
    path.write_bytes(before)
    (finding,) = check_paths([path], rules()).findings
    assert finding.edit is not None
    edit_file(path, [finding.edit])
    assert path.read_bytes() == before.replace(b"lr=", b"learning_rate=")
