"""Imports, versions and files that are none of the doctor's business."""

import textwrap

import pytest

from tests.unit.doctor import programs
from tests.unit.doctor.forms.precision import HEAD


def found(code: str, *, head: str = HEAD, target: tuple[int, int] = (2, 21)) -> list[str]:
    return [rule for rule, _ in programs.found(code, head, target)]


@pytest.mark.parametrize(
    "line",
    [
        "import tensorflow as anything; s = anything.distribute.MirroredStrategy()",
        "from tensorflow import distribute as d; s = d.MirroredStrategy()",
        "from tensorflow.distribute import MirroredStrategy as M; s = M()",
        "import tensorflow.compat.v2 as tf; dist = tf.distribute; s = dist.MirroredStrategy()",
        "import tensorflow as tf; make = tf.distribute.MirroredStrategy; s = t = make()",
        "import tensorflow as tf; s: object = tf.distribute.MirroredStrategy()",
    ],
)
def test_names_are_followed_however_they_are_imported(line: str) -> None:
    code = f"{line}\nfor batch in batches:\n    s.run(lambda: model(batch))\n"
    assert found(code, head="") == ["run-outside-function"]


@pytest.mark.parametrize(
    ("reference", "call"),
    [
        ("partial(train, 0)", "train"),
        ("partial(train, 0)", "self.step"),
        ("self.train_it", "self.step"),
        ("0", "self.made()"),
    ],
)
def test_what_a_function_is_given_is_followed_however_it_is_called(
    reference: str, call: str
) -> None:
    """By a name, by a member that holds it, by what a method returns."""
    given = "0, strategy" if call == "train" else "strategy"
    code = f"""
    from functools import partial
    strategy = tf.distribute.MirroredStrategy()
    def train(_, ds):
        for batch in batches:
            ds.run(lambda: model(batch))
    class Trainer:
        def __init__(self):
            self.step = {reference}
        def train_it(self, ds):
            for batch in batches:
                ds.run(lambda: model(batch))
        def made(self):
            return self.train_it
        def fit(self):
            {call}({given})
    Trainer().fit()
    """
    assert "run-outside-function" in found(code)


def test_a_file_that_does_not_use_tensorflow_is_none_of_our_business() -> None:
    """The same names may mean something else there, as they do inside of TensorFlow."""
    code = """
    # tensorflow
    def run_all(strategy, jobs):
        for job in jobs:
            strategy.run(lambda: work(job))
        print("done")
    """
    assert found(code, head="") == []
    assert found(code, head="from tensorflow.python.distribute import mirrored_strategy\n") == []
    for line in ("import tensorflow", "import keras.losses", "from tensorflow import data"):
        assert found(code, head=f"{line}\n") == ["run-outside-function"], line


def test_estimators_are_gone_from_the_version_that_lacks_them() -> None:
    code = "tf.estimator.RunConfig()\ntf.contrib.layers.l2_regularizer(0.1)"
    assert len(found(code, target=(2, 15))) == 1
    assert len(found(code, target=(2, 16))) == 2


@pytest.mark.parametrize("written", ["keras.metrics.Mean | None", "Optional[keras.metrics.Mean]"])
def test_the_type_of_a_parameter_that_may_be_missing_is_read(written: str) -> None:
    assert found(f"def clear(m: {written} = None):\n    m.reset_states()") == ["keras-2-call"]


@pytest.mark.parametrize(
    "code",
    [
        "keras.optimizers.Adam(lr=0.1)",
        "keras.optimizers.legacy.Adam(0.1)",
        "keras.layers.experimental.preprocessing.Resizing(2, 2)",
        "keras.callbacks.ModelCheckpoint('weights')",
        "keras.metrics.Mean().reset_states()",
        "optimizer = keras.optimizers.Adam()\nprint(optimizer.lr)",
    ],
)
def test_what_keras_3_refuses_is_right_with_keras_2(code: str) -> None:
    """By the version that is meant, or by what the file says itself."""
    assert len(found(code)) == 1
    assert found(code, target=(2, 15)) == []
    assert found(f"import tf_keras\n{code}") == []
    assert found(f"if keras.__version__ < '3':\n{textwrap.indent(code, '    ')}") == []


@pytest.mark.parametrize(
    ("use", "rules"),
    [
        ("batch = 32 * strategy.num_replicas_in_sync", ["created-outside-scope"]),
        ("trainer.use(strategy)", []),
    ],
)
def test_a_strategy_that_is_handed_on_may_be_entered_there(use: str, rules: list[str]) -> None:
    model = "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')"
    strategy = f"strategy = tf.distribute.MirroredStrategy()\n{use}"
    assert found(f"{strategy}\n{model}\nmodel.fit(data)") == rules


def test_one_tensor_may_be_tried_for() -> None:
    step = "strategy = tf.distribute.MirroredStrategy()\nloss = strategy.run(step, args=(x,))"
    tried = "try:\n    print(loss.numpy())\nexcept AttributeError:\n    print(loss)"
    assert found(f"{step}\n{tried}") == []
    assert found(f"{step}\nprint(loss.numpy())") == ["per-replica-as-tensor"]
