"""The documented mistakes in the words in which people make them; read as in `precision`."""

from tests.unit.doctor.forms.precision import STEP

__all__ = ["STEP"]  # A word of these programs, too.

HEAD = """
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
import keras
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
import wandb
"""
STRATEGY = "strategy = tf.distribute.MirroredStrategy()"
LAYERS = "model = keras.Sequential([keras.layers.Dense(10)])"
MADE = """
STRATEGY
with strategy.scope():
    LAYERS
    optimizer = keras.optimizers.Adam()
"""
INSIDE = "with strategy.scope():\n    LAYERS"
WORKERS = "strategy = tf.distribute.MultiWorkerMirroredStrategy()"
DATA = "tf.data.Dataset.from_tensor_slices(x)"
SHARED = "batches = strategy.experimental_distribute_dataset(data)"
V2 = "strategy.experimental_run_v2(step, args=(batch,))"
GENERATOR = "tf.keras.preprocessing.image.ImageDataGenerator()"
NET = "keras.Sequential"
RUN = "strategy.run(step, args=(batch,))"

PROGRAMS = r"""
#: a value that is read in every step
MADE
STEP
for batch in strategy.experimental_distribute_dataset(data):
    @@
#= loss = train_step(batch)|    print(f'loss {loss:.3f}') -> sync-every-step
#= losses.append(float(train_step(batch))) -> sync-every-step
#= loss = train_step(batch)|    print('{}'.format(loss)) -> sync-every-step
#= loss = train_step(batch)|    history.append(np.array(loss)) -> sync-every-step
#= loss = train_step(batch)|    logging.info('%f', loss) -> sync-every-step
#= loss = train_step(batch)|    wandb.log({'loss': loss}) -> sync-every-step
#= loss = train_step(batch)|    print({'loss': '%.4f' % loss}) -> sync-every-step
#= loss = train_step(batch)|    if loss < best:|        best = loss -> sync-every-step
#= train_step(batch)|    print(optimizer.iterations.numpy()) -> sync-every-step
#: a value that is read in every step, all in the loop
MADE
for batch in data:
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    print(float(loss))
#= -> strategy-never-run sync-every-step
#: a mean over one replica
MADE
BATCH_PER_REPLICA = 64
loss_object = keras.losses.SparseCategoricalCrossentropy(reduction="none")
def replica_step(x, y):
    with tf.GradientTape() as tape:
        each = loss_object(y, model(x))
        @@
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
@tf.function
def train_step(x, y):
    strategy.run(replica_step, args=(x, y))
#= loss = tf.math.reduce_mean(each) + penalty -> mean-over-replica
#= each *= mask|        loss = tf.reduce_mean(each) -> mean-over-replica
#= loss = tf.reduce_mean(each * mask) -> mean-over-replica
#= loss = tf.reduce_sum(each) / tf.cast(tf.shape(x)[0], tf.float32) -> mean-over-replica
#= loss = tf.reduce_sum(each) / BATCH_PER_REPLICA -> mean-over-replica
#= loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH_PER_REPLICA) -> mean-over-replica
#= loss = tf.reduce_mean(each, axis=0) -> mean-over-replica
#= loss = tf.nn.compute_average_loss(each) + tf.add_n(model.losses) -> mean-over-replica
#: a mean over one replica that is minimized
MADE
def replica_step(x, y):
    optimizer.minimize(lambda: tf.reduce_mean(tf.square(y - model(x))), model.weights)
@tf.function
def train_step(x, y):
    strategy.run(replica_step, args=(x, y))
#= -> keras-2-call mean-over-replica
#: created outside the scope
@@
#= STRATEGY|LAYERS|model.compile('adam', 'mse')|model.fit(data) -> created-outside-scope
#: an optimizer or a part of the model that is created outside the scope
STRATEGY
@@
#= optimizer = keras.optimizers.Adam()|INSIDE|    model.compile(optimizer) -> created-outside-scope
#= base = keras.applications.ResNet50()|INSIDE|    model = NET([base]) -> created-outside-scope
#= LAYERS|optimizer = keras.optimizers.Adam()|STEP -> created-outside-scope created-outside-scope
#: a member that is created outside the scope
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
        self.model = keras.Sequential([keras.layers.Dense(10)])
        with self.strategy.scope():
            self.optimizer = keras.optimizers.Adam()
    def replica_step(self, batch):
        return self.model(batch)
    @tf.function
    def train_step(self, batch):
        return self.strategy.run(self.replica_step, args=(batch,))
#= -> created-outside-scope
#: the whole batch for every replica
MADE
STEP
data = @@
    train_step(batch)
#= tf.data.TFRecordDataset(a)|for n, batch in enumerate(data.batch(6)): -> dataset-not-distributed
#= tfds.load('mnist', split='train').batch(64)|for batch in data: -> dataset-not-distributed
#= GENERATOR.flow(x, y)|for batch in data: -> dataset-not-distributed
#: the whole batch for every replica, without a name
MADE
STEP
iterator = iter(tf.data.Dataset.range(9).batch(64))
for start in range(0, len(x), 64):
    train_step(@@)
#= next(iterator) -> dataset-not-distributed
#= x[start : start + 64] -> dataset-not-distributed
#: the batch of one replica
MADE
BATCH_PER_REPLICA = 64
data = @@
#= DATA.shuffle(9).batch(BATCH_PER_REPLICA).prefetch(2)|SHARED -> batch-of-one-replica
#= DATA.batch(batch_size=BATCH_PER_REPLICA)|SHARED -> batch-of-one-replica
#= DATA|data = data.shuffle(9)|data = data.batch(BATCH_PER_REPLICA)|SHARED -> batch-of-one-replica
#= DATA.batch(BATCH_PER_REPLICA)|model.compile('sgd')|model.fit(data) -> batch-of-one-replica
#: the batch of one replica, through functions
MADE
BATCH_PER_REPLICA = 64
def make(size):
    return DATA.batch(size)
data = make(BATCH_PER_REPLICA)
SHARED
#= -> batch-of-one-replica
#: a device on each replica
MADE
DEVICE = '/GPU:0'
def replica_step(batch):
    with tf.device(@@):
        return model(batch)
@tf.function
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))
#= DEVICE -> device-in-replica
#= f'/GPU:{number}' -> device-in-replica
#= f'/GPU:{replica}' ->
#: a device in a step of Keras
MADE
class Mine(keras.Model):
    def train_step(self, batch):
        with tf.device("/GPU:0"):
            return self(batch)
#= -> device-in-replica
#: what is removed, or deprecated
@@
#= def train(strategy):|    V2 -> removed-call
#= from mine import strategy|V2 -> removed-call
#= class A:|    def f(self):|        self._strategy.experimental_run_v2(f) -> removed-call
#= def train(distribution):|    distribution.experimental_run_v2(step) -> removed-call
#: threads without a lock
pool = ThreadPoolExecutor()
v = tf.Variable(0.0)
def work(each=None):
    v.assign(v + 1.0)
@@
#= pool.map(work, parts) -> unlocked-threads
#: threads that update in other words
v = tf.Variable(0.0)
optimizer = keras.optimizers.SGD()
class Worker(threading.Thread):
    def run(self):
        @@
for _ in range(4):
    Worker().start()
#= optimizer.apply_gradients(g) -> unlocked-threads
#: run from Python
STRATEGY
def step(batch):
    return f(batch)
@@
#= while True:|    strategy.run(lambda: f(x)) -> run-outside-function
#= def train(strategy):|    for batch in data:|        RUN|    print('done') -> run-outside-function
#: a model that is run from Python
MADE
for batch in data:
    strategy.run(model, args=(batch,))
#= -> run-outside-function
#: sharding that is turned off
@@
    options = tf.data.Options()
    options.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
#= WORKERS|def make(): -> shards-off
#= WORKERS|if strategy.cluster_resolver.task_id == 0:|    print('chief')|if True: -> shards-off
#= def make(strategy: tf.distribute.MultiWorkerMirroredStrategy): -> shards-off
#= WORKERS|class Input:|    def shard_files(self, names):|        return names[::2]|if True: ->
#: sharding that is turned off, of another name
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
options = tf.data.Options().experimental_distribute
options.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
#= -> deprecated-call shards-off
#: the policy in force is the last one before the options are used
strategy = tf.distribute.MultiWorkerMirroredStrategy()
POLICY = tf.data.experimental.AutoShardPolicy
options = tf.data.Options()
@@
options.experimental_distribute.auto_shard_policy = POLICY.OFF
@@
dataset = dataset.with_options(options)
#= x = 1 -> shards-off
#= options.experimental_distribute.auto_shard_policy = POLICY.DATA ->
#: a temporary folder is each worker's own
with (workers := tf.distribute.MultiWorkerMirroredStrategy()).scope():
    model = keras.Sequential()
path = @@
model.save(path)
#= tempfile.mkdtemp() + '/model.keras' ->
#= 'model.keras' -> saved-by-every-worker
#: device names that are misspelt
@@
#= with tf.device('/gpu0'):|    x = f() -> misspelt-device
#= strategy = tf.distribute.OneDeviceStrategy('cuda:0') -> misspelt-device
#= DEVICES = ['/gpu0']|strategy = tf.distribute.MirroredStrategy(DEVICES) -> misspelt-device
#= for i in range(2):|    with tf.device(f'/gpu{i}'):|        x = f() -> misspelt-device
"""
