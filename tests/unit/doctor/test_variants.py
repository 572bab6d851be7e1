"""The documented mistakes in the words in which people make them."""

from __future__ import annotations

import textwrap

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rules import rules
from autotune.doctor.text import Text

HEAD = """
import logging
import threading
import keras
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
import wandb
"""
MADE = """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()
"""
STEP = """
def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    return loss

@tf.function
def train_step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)
"""
LOOP = f"{MADE}{STEP}\nfor batch in strategy.experimental_distribute_dataset(data):\n"
SYNC = [
    "    loss = train_step(batch)\n    print(loss.numpy())",
    "    loss = train_step(batch)\n    print(f'loss {loss:.3f}')",
    "    losses.append(float(train_step(batch)))",
    "    loss = train_step(batch)\n    print('{}'.format(loss))",
    "    loss = train_step(batch)\n    history.append(np.array(loss))",
    "    loss = train_step(batch)\n    logging.info('%f', loss)",
    "    loss = train_step(batch)\n    wandb.log({'loss': loss})",
    "    loss = train_step(batch)\n    print({'loss': '%.4f' % loss})",
    "    loss = train_step(batch)\n    if loss < best:\n        best = loss",
    "    train_step(batch)\n    print(optimizer.iterations.numpy())",
]
NO_STEP = f"""{MADE}
for batch in data:
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    print(float(loss))
"""

REPLICA = """
BATCH_PER_REPLICA = 64
loss_object = keras.losses.SparseCategoricalCrossentropy(reduction="none")

def replica_step(x, y):
    with tf.GradientTape() as tape:
        each = loss_object(y, model(x))
        {}
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

@tf.function
def train_step(x, y):
    strategy.run(replica_step, args=(x, y))
"""
MEANS = [
    "loss = tf.reduce_mean(each)",
    "loss = tf.reduce_mean(tf.square(y - model(x)))",
    "loss = tf.math.reduce_mean(each) + penalty",
    "each *= mask\n        loss = tf.reduce_mean(each)",
    "loss = tf.reduce_sum(each) / tf.cast(tf.shape(x)[0], tf.float32)",
    "loss = tf.reduce_sum(each) / BATCH_PER_REPLICA",
    "loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH_PER_REPLICA)",
    "loss = tf.reduce_mean(each, axis=0)",
    "loss = tf.reduce_mean(keras.losses.MSE(y, model(x)))",
    "loss = tf.nn.compute_average_loss(each) + tf.add_n(model.losses)",
]
MINIMIZED = """
def replica_step(x, y):
    optimizer.minimize(lambda: tf.reduce_mean(tf.square(y - model(x))), model.weights)

@tf.function
def train_step(x, y):
    strategy.run(replica_step, args=(x, y))
"""

STRATEGY = "strategy = tf.distribute.MirroredStrategy()\n"
LAYERS = "keras.Sequential([keras.layers.Dense(10)])"
SCOPE = "with strategy.scope():\n    "
CREATED = [
    f"model = {LAYERS}\n{STRATEGY}{SCOPE}model.compile('adam')",
    (
        f"{STRATEGY}optimizer = keras.optimizers.Adam()\n{SCOPE}model = {LAYERS}\n"
        "    model.compile(optimizer)"
    ),
    f"{STRATEGY}{SCOPE}model = {LAYERS}\nmodel.compile('adam', 'mse')",
    f"{STRATEGY}{SCOPE}model = {LAYERS}\nmodel.compile(keras.optimizers.Adam(0.1))",
    (
        f"{STRATEGY}base = keras.applications.ResNet50()\n{SCOPE}"
        "model = keras.Sequential([base, keras.layers.Dense(10)])"
    ),
    f"{STRATEGY}optimizer = keras.optimizers.Adam()\n{SCOPE}model = {LAYERS}\n{STEP}",
    f"{STRATEGY}model = {LAYERS}\noptimizer = keras.optimizers.Adam()\n{STEP}",
    f"{STRATEGY}model = {LAYERS}\nmodel.compile('adam', 'mse')\nmodel.fit(data)",
    f"""
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
        self.model = {LAYERS}
        with self.strategy.scope():
            self.optimizer = keras.optimizers.Adam()

    def replica_step(self, batch):
        return self.model(batch)

    @tf.function
    def train_step(self, batch):
        return self.strategy.run(self.replica_step, args=(batch,))
""",
]

WHOLE = [
    (
        "data = tf.data.Dataset.from_tensor_slices(x).batch(64)\nfor batch in data:\n"
        "    train_step(batch)"
    ),
    (
        "data = tf.data.TFRecordDataset(files).map(parse).batch(64)\nfor step, batch in "
        "enumerate(data):\n    train_step(batch)"
    ),
    (
        "iterator = iter(tf.data.Dataset.range(9).batch(64))\nfor _ in range(100):\n"
        "    train_step(next(iterator))"
    ),
    "data = tfds.load('mnist', split='train').batch(64)\nfor batch in data:\n    train_step(batch)",
    "for start in range(0, len(x), 64):\n    train_step(x[start : start + 64])",
    (
        "data = tf.keras.preprocessing.image.ImageDataGenerator().flow(x, y)\nfor batch in data:\n"
        "    train_step(batch)"
    ),
]

DATA = "tf.data.Dataset.from_tensor_slices(x)"
SIZES = f"{MADE}BATCH_PER_REPLICA = 64\n"
SHARED = "batches = strategy.experimental_distribute_dataset(data)"
BATCHES = [
    f"data = {DATA}.batch(BATCH_PER_REPLICA)\n{SHARED}",
    f"data = {DATA}.shuffle(9).batch(BATCH_PER_REPLICA).prefetch(2)\n{SHARED}",
    (
        f"global_batch = 9\ndef make(context):\n    return {DATA}.batch(global_batch)\n"
        "strategy.distribute_datasets_from_function(make)"
    ),
    f"data = {DATA}.batch(batch_size=BATCH_PER_REPLICA)\n{SHARED}",
    f"data = {DATA}\ndata = data.shuffle(9)\ndata = data.batch(BATCH_PER_REPLICA)\n{SHARED}",
    f"def make(size):\n    return {DATA}.batch(size)\ndata = make(BATCH_PER_REPLICA)\n{SHARED}",
    f"data = {DATA}.batch(BATCH_PER_REPLICA)\nmodel.compile('sgd', 'mse')\nmodel.fit(data)",
]

PLACED = """
def replica_step(batch):
    with tf.device({}):
        return model(batch)

@tf.function
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))
"""
DEVICES = [
    PLACED.format("'/GPU:0'"),
    "DEVICE = '/GPU:0'\n" + PLACED.format("DEVICE"),
    PLACED.format("f'/GPU:{number}'"),
    """
class Mine(keras.Model):
    def train_step(self, batch):
        with tf.device("/GPU:0"):
            return self(batch)
""",
]

RUN_V2 = "strategy.experimental_run_v2(step, args=(batch,))"
REMOVED = [
    f"{STRATEGY}{RUN_V2}",
    f"def train(strategy):\n    {RUN_V2}",
    f"from mine import strategy\n{RUN_V2}",
    (
        "class Trainer:\n    def train(self):\n        "
        "self._distribution_strategy.experimental_run_v2(step)"
    ),
    "def train(distribution):\n    distribution.experimental_run_v2(step)",
]
DEPRECATED = [
    "strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()",
    f"{STRATEGY}strategy.experimental_distribute_datasets_from_function(make)",
]

VARIABLE = "v = tf.Variable(0.0)\n"
START = "for _ in range(4):\n    threading.Thread(target=work).start()"
POOL = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\n"
ADDS = "def work(each=None):\n    v.assign(v + 1.0)\n"
THREADS = [
    f"{VARIABLE}{ADDS}{START}",
    f"{VARIABLE}{ADDS}threads = [threading.Thread(target=work) for _ in range(4)]",
    f"{POOL}{VARIABLE}{ADDS}pool.map(work, parts)",
    f"{POOL}{VARIABLE}{ADDS}for each in parts:\n    pool.submit(work, each)",
    f"optimizer = keras.optimizers.SGD()\ndef work():\n    optimizer.apply_gradients(g)\n{START}",
    (
        f"{VARIABLE}class Worker(threading.Thread):\n    def run(self):\n"
        "        v.assign(v * 0.9)\nfor _ in range(4):\n    Worker().start()"
    ),
    f"{VARIABLE}def work():\n    n = v + 1.0\n    v.assign(n)\n{START}",
]

RUN = "strategy.run(step, args=(batch,))"
RUNS = [
    f"{STRATEGY}def step(batch):\n    return f(batch)\nfor batch in data:\n    {RUN}",
    (
        f"{STRATEGY}def step(batch):\n    return f(batch)\ndef train(batch):\n    return {RUN}\n"
        "for batch in data:\n    train(batch)"
    ),
    f"{STRATEGY}while True:\n    strategy.run(lambda: f(x))",
    f"{MADE}for batch in data:\n    strategy.run(model, args=(batch,))",
    (
        "def step(batch):\n    return f(batch)\ndef train(strategy, data):\n"
        f"    for batch in data:\n        {RUN}\n    print('done')"
    ),
]

WORKERS = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
OFF = "options.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF\n"
SHARDS = [
    f"{WORKERS}options = tf.data.Options()\n{OFF}",
    (
        f"strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()\n"
        f"options = tf.data.Options().experimental_distribute\n{OFF}"
    ),
    f"{WORKERS}def make():\n    options = tf.data.Options()\n    {OFF}    return options",
    (
        f"{WORKERS}options = tf.data.Options()\n{OFF}"
        "if strategy.cluster_resolver.task_id == 0:\n    print('chief')"
    ),
    (
        "def make(strategy: tf.distribute.MultiWorkerMirroredStrategy):\n"
        f"    options = tf.data.Options()\n    {OFF}"
    ),
]
MISSPELT = [
    "with tf.device('/gpu0'):\n    x = f()",
    "strategy = tf.distribute.MirroredStrategy(['gpu0', 'gpu1'])",
    "strategy = tf.distribute.OneDeviceStrategy('cuda:0')",
    "DEVICES = ['/gpu0', '/gpu1']\nstrategy = tf.distribute.MirroredStrategy(DEVICES)",
    "for i in range(2):\n    with tf.device(f'/gpu{i}'):\n        x = f()",
]

VARIANTS = {
    "sync-every-step": [*(LOOP + each for each in SYNC), NO_STEP],
    "mean-over-replica": [*(MADE + REPLICA.format(each) for each in MEANS), MADE + MINIMIZED],
    "created-outside-scope": CREATED,
    "dataset-not-distributed": [f"{MADE}{STEP}\n{each}" for each in WHOLE],
    "batch-of-one-replica": [SIZES + each for each in BATCHES],
    "device-in-replica": [MADE + each for each in DEVICES],
    "removed-call": REMOVED,
    "deprecated-call": DEPRECATED,
    "unlocked-threads": THREADS,
    "run-outside-function": RUNS,
    "shards-off": SHARDS,
    "misspelt-device": MISSPELT,
}


def test_there_are_seventy_seven() -> None:
    """As many as were counted when the rules were first tried on code from elsewhere."""
    assert sum(map(len, VARIANTS.values())) == 77


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        pytest.param(rule, code, id=f"{rule}-{number}")
        for rule, codes in VARIANTS.items()
        for number, code in enumerate(codes)
    ],
)
def test_a_variant_is_found(rule: str, code: str) -> None:
    """By its rule, whatever else is found."""
    text = Text(file="train.py", content=HEAD + textwrap.dedent(code))
    assert rule in {each.rule for each in check_text(text, rules()).findings}
