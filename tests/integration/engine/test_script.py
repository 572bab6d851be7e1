"""Scripts as people have them: what a look finds, and what it says where one cannot be tuned."""

from pathlib import Path
from typing import Any

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest
from autotune.errors import ScriptFailed
from autotune.workload import FitCall, FitData, FitFacts, script_from_text, script_workload

from .conftest import BUSY, SOON, Inspect

pytestmark = pytest.mark.real

HEAD = """
import keras, numpy as np, tensorflow as tf
x, y = np.ones((80, 8), "float32"), np.ones((80, 1))
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


@pytest.fixture
def inspect(inspect_script: Inspect) -> Inspect:
    return lambda text, *arguments, **fit: inspect_script(HEAD + text, *arguments, **fit)


def test_model_and_data_are_those_of_fit(inspect: Inspect) -> None:
    """Arrays are counted without those that validate; the batch is one of the command line."""
    text = "import sys; model.fit(x, y, int(sys.argv[2]), validation_split=0.2)"
    facts = inspect(text, "--batch", "16")
    assert (facts.examples, facts.example_bytes, facts.weights) == (64, 8 * 4 + 4, 21)
    fit = FitFacts(line=6, of="model", epochs=1, data=FitData.ARRAYS)
    assert (facts.fit, facts.usual_batch) == (fit, 16)


SPARSE = "import scipy.sparse as s\nmodel.fit(s.csr_matrix(x), y, 16)"
INPUTS = """
left, right = keras.Input((8,)), keras.Input((8,))
model = keras.Model([left, right], keras.layers.Dense(1)(left + right))
model.compile("sgd", "mse")
model.fit([x, x], y)
"""
TABLES = """
import pandas as pd
table = pd.DataFrame(x, index=np.linspace(0, 1, 80))
model.fit(table, table[0], 16, validation_split=0.2)
"""
PY_DATASET = """
class Batches(keras.utils.PyDataset):
    def __len__(self): return 8
    def __getitem__(self, index): return x[index * 10:][:10], y[index * 10:][:10]
model.fit(Batches())
"""
ENDLESS = f"""
{SOON}rows = tf.data.Dataset.from_tensor_slices((x, y)).batch(7).repeat()
model.fit(rows, steps_per_epoch=5, callbacks=[])
"""


@pytest.mark.parametrize(
    ("text", "data", "examples", "size", "batch"),
    [
        (SPARSE, FitData.ARRAYS, 80, 8 * 4 + 4, 16),
        (INPUTS, FitData.ARRAYS, 80, 2 * 8 * 4 + 4, 32),
        (TABLES, FitData.ARRAYS, 64, 8 * 4 + 4, 16),
        (PY_DATASET, FitData.PY_DATASET, 80, 8 * 4 + 8, 10),
        (ENDLESS, FitData.DATASET, 35, 8 * 4 + 8, 7),
    ],
)
def test_data_is_taken_as_fit_takes_it(
    inspect: Inspect, text: str, data: FitData, examples: int, size: int, batch: int
) -> None:
    """Without those who validate; whatever size its batches have, and however long it would go."""
    facts = inspect(text)
    assert facts.fit
    assert facts.fit.data is data
    assert (facts.examples, facts.example_bytes, facts.usual_batch) == (examples, size, batch)
    assert facts.python_input == facts.py_dataset == (data is FitData.PY_DATASET)
    assert "TensorSpec(shape=(1,)" in facts.element


ONCE = """
def batches(number, size=8):
    for each in range(number):
        yield x[:size] + each, y[:size]
spec = tf.TensorSpec([None, 8]), tf.TensorSpec([None, 1])
"""
SAME = f"""
{SOON}def alike():
    while True: yield x[:8], y[:8]
alike = alike()
"""
WRAPPED = "model.fit(tf.data.Dataset.from_generator({}, output_signature=spec), steps_per_epoch=5)"


@pytest.mark.parametrize(
    ("fit", "examples"),
    [
        (f"{SOON}model.fit(batches(10**9), batch_size=64, steps_per_epoch=5)", 40),
        ("model.fit(batches(3), steps_per_epoch=5)", 24),
        (f"{SAME}model.fit(alike, steps_per_epoch=5)", 40),
        (SAME + WRAPPED.format("lambda: alike"), 40),
    ],
)
def test_what_can_be_read_once_is_of_the_batch_that_it_gives(
    inspect: Inspect, fit: str, examples: int
) -> None:
    """Steps or its end tell the examples, and no pass is taken for the repetition of another."""
    facts = inspect(ONCE + fit)
    assert (facts.usual_batch, facts.examples) == (8, examples)
    assert (facts.repeatable, facts.second_pass) == (False, None)


def test_two_inputs_of_varying_length_come_from_a_generator(inspect: Inspect) -> None:
    """As `fit` takes them: in a list, with weights, and as long as the first two batches show."""
    text = """
left, right = keras.Input((None, 8)), keras.Input((None, 8))
pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Concatenate(1)([left, right]))
model = keras.Model([left, right], keras.layers.Dense(1)(pooled))
model.compile("sgd", "mse")
def sentences():
    for length in range(1, 30):
        words = np.ones((4, length, 8), "float32")
        yield [words, words], np.ones((4, 1)), np.ones(4)
model.fit(sentences())
"""
    facts = inspect(text)
    assert facts.fit
    assert (facts.fit.only_batch, facts.usual_batch, facts.examples) == (4, 4, 4 * 29)


def test_a_generator_that_raises_is_no_end_of_it(inspect: Inspect) -> None:
    """Whoever reads on would find nothing more, and take that for all."""
    with pytest.raises(ScriptFailed, match=r"OSError: no more files.*line 8"):
        inspect(
            "def few():\n    yield x[:8], y[:8]\n    raise OSError('no more files')\n"
            "model.fit(few())"
        )


VARYING = """
def lengths():
    for number in range(60):
        yield np.ones(3 + number % 3, "float32"), np.ones(1)
words = tf.TensorSpec([None]), tf.TensorSpec([1])
rows = tf.data.Dataset.from_generator(lengths, output_signature=words).padded_batch(10)
model = keras.Sequential([keras.layers.Embedding(4, 2), keras.layers.GlobalAveragePooling1D()])
model.compile("sgd", "mse")
model.fit(rows.map(lambda x, y: (x[:, : tf.random.uniform([], 2, 5, tf.int32)], y)))
"""
STATEFUL = """
model = keras.Sequential([keras.Input((8, 1), batch_size=10), keras.layers.GRU(1, stateful=True)])
model.compile("sgd", "mse")
model.fit(x[..., None], y, 10)
"""


@pytest.mark.parametrize(("text", "examples"), [(VARYING, 60), (STATEFUL, 80)])
def test_batches_that_cannot_be_others_stay_as_they_are(
    inspect: Inspect, text: str, examples: int
) -> None:
    """Those that differ in length, and those of a size that the model is built for."""
    facts = inspect(text)
    assert facts.fit
    assert (facts.fit.only_batch, facts.usual_batch, facts.examples) == (10, 10, examples)


def test_a_look_that_time_has_ended_finds_no_other_workload(inspect: Inspect) -> None:
    """It may not come to the batches that differ, and take other sizes for possible."""
    text = VARYING.replace("2, 5", "3 - tf.cast(seen.assign_add(1) > 16, tf.int32), 4")
    text = "\nseen = tf.Variable(0)\n" + text
    quiet, busy = inspect(text), inspect(BUSY + text)
    assert quiet.fit
    assert busy.fit
    assert (quiet.fit.only_batch, busy.fit.only_batch) == (10, None)
    assert quiet.declared == busy.declared


@pytest.mark.parametrize(
    ("data", "examples"),
    [
        ("x, y, 32, steps_per_epoch=200", 80),
        ("x, y, 16, steps_per_epoch=3", 48),
        ("pairs.batch(8), steps_per_epoch=200", 80),
        ("pairs.batch(8).repeat(), steps_per_epoch=200", 1600),
        ("pairs.batch(9, drop_remainder=True)", 72),
    ],
)
def test_an_epoch_is_as_long_as_that_of_fit(inspect: Inspect, data: str, examples: int) -> None:
    """Which ends with the data, however many steps it asks for."""
    pairs = "pairs = tf.data.Dataset.from_tensor_slices((x, y))"
    soon = SOON if "repeat" in data else ""
    assert inspect(f"{soon}{pairs}\nmodel.fit({data}, epochs=7)").examples == examples


OTHER = (FitCall(line=8, of="model"),)
CONNECTS = """
import contextlib, socket, threading
def ask(host):
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as asking:
        asking.connect((host, 9))
ask("127.0.0.1")
"""
IN_A_THREAD = """
asking = threading.Thread(target=ask, args=["192.0.2.1"])
asking.start(); asking.join()
"""
WARM_UP = "for _ in range(3): model.train_on_batch(x, y)\n"
BACKEND = "import os; os.environ['KERAS_BACKEND'] = 'jax'\n"
NO_FIT = "\nmodel.predict(x)\nmodel.evaluate(x, y)"


@pytest.mark.parametrize(
    ("before", "behind", "found"),
    [
        (CONNECTS, NO_FIT, {"line": 12}),
        (CONNECTS + IN_A_THREAD, "", {"line": 15, "network": 14}),
        (WARM_UP, "", {"line": 7}),
        (BACKEND, "", {"line": 7, "backend": "jax"}),
        ("", "\nmodel.predict(x)\nmodel.fit(x, y)", {"line": 6, "others": OTHER}),
    ],
)
def test_what_a_script_does_beside_its_fit_is_found(
    inspect: Inspect, before: str, behind: str, found: dict[str, Any]
) -> None:
    """Where it connects to another machine, and what several workers cannot do."""
    facts = inspect(f"{before}model.fit(x[:6], y[:6]){behind}", fit="1")
    assert facts.fit == FitFacts(of="model", epochs=1, data=FitData.ARRAYS, **found)
    assert (facts.usual_batch, facts.examples) == (6, 6)


@pytest.mark.parametrize("fit", ["model", "2"])
def test_the_chosen_fit_is_found_behind_others(inspect: Inspect, fit: str) -> None:
    """Those before it take a step and save what the script loads, as if they had trained."""
    text = """
def train(of):
    best = keras.callbacks.ModelCheckpoint("best.weights.h5", save_weights_only=True)
    of.fit(x, y, epochs=10**9, callbacks=[best])
    of.load_weights("best.weights.h5")
    return of
teacher = keras.models.clone_model(model)
teacher.compile("adam", "mse")
train(teacher).evaluate(x, y)
model.fit(x, y, callbacks=keras.callbacks.TerminateOnNaN())
"""
    facts = inspect(text, fit=fit)
    others = (FitCall(line=9, of="of"),)
    found = FitFacts(
        line=15,
        of="model",
        epochs=1,
        data=FitData.ARRAYS,
        callbacks=True,
        left_out=("TerminateOnNaN",),
        others=others,
    )
    assert (facts.optimizer, facts.fit) == ("SGD", found)
    assert inspect(text).optimizer == "Adam"


SCALED = """
keras.config.set_dtype_policy("mixed_float16")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y)
"""
OWN_STEP = """
class Own(keras.Sequential):
    def train_step(self, batch):
        self.layers[0].bias.assign_add([1.0])
        return {"bias": self.layers[0].bias[0]}
own = Own([keras.Input((8,)), keras.layers.Dense(1)])
own.compile(loss="mae")
own.fit(x, y)
"""


@pytest.mark.parametrize(("text", "used"), [(SCALED, ("Adam", "mse")), (OWN_STEP, ("", ""))])
def test_optimizer_and_loss_are_those_of_a_step(
    inspect: Inspect, text: str, used: tuple[str, str]
) -> None:
    """Not what `compile` wraps them in, nor what it takes where nothing is said."""
    facts = inspect(text)
    assert (facts.optimizer, facts.loss) == used


OTHERS = """
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
classes = np.arange(80) % 2
def made(): return StandardScaler()
"""
BEHIND = """
clf.fit(x, classes)
"""
INSIDE = """
class Trainer:
    def __init__(self, of): self.of = of
    def fit(self, x, y): return self.of.fit(x, y)
def main():
    scaler, wrapped = made(), Trainer(model)
    scaled = scaler.fit(x).transform(x)
    wrapped.fit(scaled, y)
    scaler.fit(y)
main()
"""


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("clf = LogisticRegression()\nmodel.fit(x, y)" + BEHIND, []),
        (INSIDE, []),
        ("made().fit(x)\nmodel.fit(x, y)\nstudent = model\nstudent.fit(x, y)", [14]),
    ],
)
def test_only_what_keras_does_keeps_several_workers_away(
    inspect: Inspect, text: str, others: list[int]
) -> None:
    """It is told from other objects by what the script has bound to its names by then."""
    fit = inspect(OTHERS + text).fit
    assert fit
    assert [each.line for each in fit.others] == others


@pytest.mark.parametrize(("fit", "told"), [("scaler", "in line 12"), ("2", "with number 2")])
def test_a_chosen_fit_that_is_not_kerass_is_told(inspect: Inspect, fit: str, told: str) -> None:
    """With those that are, by their numbers."""
    text = OTHERS + "scaler = made()\nscaler.fit(x)\nfor _ in range(2): model.fit(x, y)"
    with pytest.raises(ScriptFailed, match=f"no fit of Keras {told}.*from: 1: model, line 13"):
        inspect(text, fit=fit)


def test_a_script_may_write_beside_itself(
    inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it finds from its own place is in the copy of the working folder, as it is itself.

    The data is read there, and it matters not that the script takes its end for an error.
    """
    monkeypatch.chdir(tmp_path)
    text = """
import os, pathlib
here = pathlib.Path(__file__).resolve().parent
(here / "logs").mkdir()
(here / "logs" / "log.txt").write_text("begun")
os.chdir(here)
rows = tf.data.TextLineDataset(tf.data.Dataset.from_tensors("rows.csv"))
open("rows.csv", "w").write("1,2\\n" * 80)
rows = rows.map(lambda row: tf.io.decode_csv(row, [0.0, 0.0])).batch(16)
rows = rows.map(lambda a, b: (tf.repeat(a[:, None], 8, 1), b))
try:
    model.fit(rows)
except:
    print("Something went wrong")
"""
    assert inspect(text).examples == 80
    assert [each.name for each in tmp_path.iterdir()] == ["my train.py"]


def test_a_script_may_be_part_of_a_package(
    engine: LocalEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It imports from its package by either name, as `python -m` lets it do."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "mine" / "rates.py").write_text("rate = 2")
    (tmp_path / "mine" / "deep" / "sizes.py").write_text("size = 20")
    text = (
        "from ..rates import rate\nfrom mine.deep.sizes import size\nmodel.fit(x, y, rate * size)"
    )
    (tmp_path / "mine" / "deep" / "train.py").write_text(HEAD + text)
    facts = engine.execute(
        InspectionRequest(script_workload(script_from_text("mine/deep/train.py")))
    )
    assert facts.usual_batch == 40


IN_SCOPE = """
with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1 * strategy.num_replicas_in_sync), "mse")
model.fit(x, y, batch_size=8 * strategy.num_replicas_in_sync)
"""
CLUSTER = """
import json, os
workers = ["localhost:1111", "localhost:2222"]
task = {"type": "worker", "index": 1}
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
strategy = tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.cluster_resolver.task_id == 1
"""
IMPORTED = """
from tensorflow import distribute
strategy = distribute.MirroredStrategy(devices=["CPU:0", "CPU:1"])
assert isinstance(strategy, tf.distribute.MirroredStrategy)
"""
DISTRIBUTED = """
strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4 * strategy.num_replicas_in_sync)
model.fit(strategy.experimental_distribute_dataset(data))
"""
BY_FUNCTION = """
strategy = tf.distribute.MirroredStrategy()
def of(context):
    size = context.get_per_replica_batch_size(16)
    data = tf.data.Dataset.from_tensor_slices((x, y))
    return data.shard(context.num_input_pipelines, context.input_pipeline_id).batch(size)
model.fit(strategy.distribute_datasets_from_function(of))
"""
ASKED = "strategy = tf.distribute.get_strategy()" + IN_SCOPE


@pytest.mark.parametrize(
    ("text", "title", "line", "replicas", "batch"),
    [
        (CLUSTER + IN_SCOPE, "MultiWorkerMirroredStrategy", 11, 2, 16),
        (IMPORTED + IN_SCOPE, "MirroredStrategy", 8, 2, 16),
        (DISTRIBUTED, "OneDeviceStrategy", 7, 1, 4),
        (BY_FUNCTION, "MirroredStrategy", 7, 1, 16),
        (ASKED, "", 6, 1, 8),
    ],
)
def test_a_strategy_of_the_script_gives_way(
    inspect: Inspect, text: str, title: str, line: int, replicas: int, batch: int
) -> None:
    """It is known what it would be here, and the script reckons with as many replicas."""
    facts = inspect(text)
    own = facts.fit.own_strategy
    assert (own.title, own.line, own.replicas) == (title, line, replicas)
    assert facts.usual_batch == batch


NEEDS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.parse_args()
"""
LOOP = "for _ in range(10**9): model.train_on_batch(x, y)\n"
OWN_FIT = f"""
class Own:
    def fit(self):
        try:
            {LOOP}
        except Exception:
            pass
def made(): return Own()
made().fit()
"""
BESIDE = f"""
from sklearn.preprocessing import StandardScaler
scaler = StandardScaler()
def scaled(of): return scaler.fit(of).transform(of)
x = scaled(x)
StandardScaler().fit(x)
{LOOP}
"""
OVERRIDDEN = """
class Own(keras.Sequential):
    def fit(self):
        optimizer = keras.optimizers.SGD()
        while True:
            optimizer.apply([tf.ones((8, 1)), tf.ones(1)], self.weights)
own = Own([keras.Input((8,)), keras.layers.Dense(1)])
own.fit()
"""
ELSEWHERE = """
import os
os.environ["KERAS_BACKEND"] = "jax"
"""
REPLACED = "backend jax, which was replaced by TensorFlow: .* likely cause"
JAX_STEP = """
class Own(keras.Sequential):
    def train_step(self, state, data): return {}
own = Own([keras.Input((8,)), keras.layers.Dense(1)])
own.compile("sgd", "mse")
own.fit(x, y)
"""
STRATEGY = """
from tensorflow.python.distribute.mirrored_strategy import MirroredStrategy
with MirroredStrategy(["CPU:0"]).scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("if len(x) < 8: model.fit(x)", "ended without the call of fit.*model_fn and a dataset_fn"),
        (f"s = __import__('socket')\n{LOOP}", r"loop of its own in line 7 \(train_on_batch\)"),
        (OWN_FIT, r"loop of its own in line 10 \(train_on_batch\)"),
        (BESIDE, r"loop of its own in line 12 \(train_on_batch\)"),
        (OVERRIDDEN, r"loop of its own in line 11 \(apply\)"),
        (ELSEWHERE + "x.at[0]\nmodel.fit(x, y)", REPLACED),
        (ELSEWHERE + JAX_STEP, REPLACED),
        (NEEDS + "model.fit(x, y)", "does not accept its command line: .*--data.*behind --"),
        ("quit('done')\nmodel.fit(x)", "ends before its fit: SystemExit.*line 6"),
        ("name = input('Which? ')\nmodel.fit(x)", "reads standard input.*line 6"),
        ("1 / 0\nmodel.fit(x)", "raised ZeroDivisionError.*line 6.* before its fit"),
        (STRATEGY, "makes a strategy in line 8 whose place no other can take"),
        ("model.fit(x[:, :3], y)", "cannot be trained.*axis -1.*by itself"),
    ],
)
def test_a_script_that_cannot_be_tuned_is_told(inspect: Inspect, text: str, words: str) -> None:
    """With the line, and with what to do."""
    with pytest.raises(ScriptFailed, match=words):
        inspect(text)


EAGER = """
stack = [keras.Input((8,)), keras.layers.Dense(1)]
{}
model.fit(x, y, batch_size=16)
"""
LOGGING = """
class Own(keras.Sequential):
    def train_step(self, data):
        logs = super().train_step(data)
        return {{**logs, "twice": {}}}
"""
FUNCTION = """
class Own(keras.Sequential):
    def make_train_function(self, force=False):
        step = tf.function(lambda iterator: self.train_step(next(iterator)))
        self.train_function = step
"""


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["model.compile('sgd', 'mse', run_eagerly=True)"], 9),
        (["model.compile('sgd', 'mse')", "model.run_eagerly = True"], 10),
        (["tf.config.run_functions_eagerly(True)", "model.compile('sgd', 'mse')"], 9),
    ],
)
def test_the_line_that_asks_for_it_is_found(inspect: Inspect, lines: list[str], line: int) -> None:
    """However it is asked for; a model whose step can be compiled is told apart."""
    facts = inspect(EAGER.format("\n".join(["model = keras.Sequential(stack)", *lines])))
    assert facts.fit
    assert (facts.eager, facts.fit.eager) == (True, line)
    assert facts.uncompilable == ""


@pytest.mark.parametrize(
    ("made", "asked", "xla", "own"),
    [
        ("Own", "run_eagerly=False", False, True),
        ("keras.Sequential", "jit_compile=True", True, False),
    ],
)
def test_the_xla_that_keras_takes_is_found(
    inspect: Inspect, made: str, asked: str, *, xla: bool, own: bool
) -> None:
    """By itself it takes none on CPUs; what it compiles is not eager.

    A train function of the model's own is told apart, which only Model.fit calls.
    """
    compiled = f"model = {made}(stack)\nmodel.compile('sgd', 'mse', {asked})"
    facts = inspect(EAGER.format(FUNCTION + compiled))
    assert facts.fit
    assert (facts.jit_compile, facts.eager, facts.fit.eager) == (xla, False, None)
    assert facts.own_train_function is own


@pytest.mark.parametrize("value", ["logs['loss'].numpy()", "1 if logs['loss'] > 2 else 0"])
def test_a_step_that_needs_eager_execution_says_why(inspect: Inspect, value: str) -> None:
    """With the error that compiling it raises, and its line."""
    compiled = "model = Own(stack)\nmodel.compile('sgd', 'mse', run_eagerly=True)"
    facts = inspect(EAGER.format(LOGGING.format(value) + compiled))
    assert facts.eager
    assert "in my train.py line 12" in facts.uncompilable
