"""Which of several seeds a finding names: the last one that is set before the draw."""

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rules import rules
from autotune.doctor.source import Text

HEAD = """\
import random
import numpy as np
import keras
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
def draw():
    return tf.random.uniform(())
@tf.function
def step():
    return strategy.run(draw)
"""
FIRST = HEAD.count("\n") + 1


def findings(code: str, rule: str) -> list[str]:
    text = Text(file="train.py", content=code)
    return [each.sentence for each in check_text(text, {rule: rules()[rule]}).findings]


def seeds(code: str, head: str = HEAD) -> list[int]:
    """Return the lines below the head whose seeds findings name."""
    found = findings(head + code, "one-seed-for-replicas")
    return [int(each.rstrip(".").rpartition(" line ")[2]) - FIRST + 1 for each in found]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("tf.random.set_seed(1)\ntf.random.set_seed(7)\nstep()", 2),
        ("tf.random.set_seed(1)\nstep()\ntf.random.set_seed(7)\nstep()", 1),
        ("tf.random.set_seed(1)\nkeras.utils.set_random_seed(7)\nstep()", 2),
        ("tf.random.set_seed(1)\nnp.random.seed(7)\nrandom.seed(7)\nstep()", 1),
        ("tf.random.set_seed(1)\nif tested:\n    tf.random.set_seed(7)\nstep()", 3),
        ("if a:\n    tf.random.set_seed(1)\n    step()\nelse:\n    tf.random.set_seed(7)", 2),
        ("if a:\n    tf.random.set_seed(1)\nelse:\n    tf.random.set_seed(7)\n    step()", 4),
        (
            (
                "def main():\n    begin()\n    for _ in range(3):\n        step()\n"
                "def begin():\n    tf.random.set_seed(7)\ntf.random.set_seed(1)\nmain()"
            ),
            6,
        ),
        ("tf.random.set_seed(rank)\ntf.random.set_seed(7)\nstep()", 2),
        ("tf.random.set_seed(1)\ndef train():\n    tf.random.set_seed(7)\n    step()", 3),
        ("def train():\n    tf.random.set_seed(7)\n    step()", 2),
    ],
)
def test_the_last_seed_before_the_draw_is_named(code: str, line: int) -> None:
    """Through functions and branches, and none that TensorFlow does not draw from."""
    assert seeds(code) == [line]


@pytest.mark.parametrize(
    "code",
    [
        "step()\ntf.random.set_seed(7)",
        "tf.random.set_seed(7)\ntf.random.set_seed(None)\nstep()",
        "tf.random.set_seed(7)\ntf.random.set_seed(7 + rank)\nstep()",
        "np.random.seed(7)\nstep()",
    ],
)
def test_a_seed_that_is_not_in_force_is_not_named(code: str) -> None:
    assert seeds(code) == []


def test_what_keras_draws_is_seeded_by_keras_or_python() -> None:
    head = HEAD.replace("tf.random.uniform(())", "keras.random.uniform((1,))")
    assert seeds("random.seed(1)\nkeras.utils.set_random_seed(7)\nstep()", head) == [2]
    assert seeds("random.seed(1)\ntf.random.set_seed(7)\nstep()", head) == [1]
    assert seeds("tf.random.set_seed(7)\nstep()", head) == []


def test_a_seed_that_comes_after_the_order_does_not_count() -> None:
    order = "files = tf.data.Dataset.list_files('*')\nfiles = files.shard(2, 0)\n"
    seed, rule = "tf.random.set_seed(7)\n", "random-order-then-shard"
    head = "import tensorflow as tf\n"
    assert findings(f"{head}{seed}{order}", rule) == []
    assert len(findings(f"{head}{order}{seed}", rule)) == 1
