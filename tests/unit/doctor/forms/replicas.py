"""What replicas return and are given, and what they may not do; each program follows its name."""

IMPORTS = """
import logging
import keras
import numpy as np
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
data = tf.data.Dataset.range(64).batch(8)
"""
STEP = """
def replica_step(batch):
    total = tf.reduce_sum(batch)
    return total / 2
@tf.function
def step(batch):
    return strategy.run(replica_step, args=(batch,))
"""
BATCHES = "strategy.experimental_distribute_dataset(data)"
LOOP = "for batch in BATCHES:"
RULE = "per-replica-as-tensor"

BAD = """
#: read, converted, and formatted
STEP
LOOP
    loss = step(batch)
    print(loss.numpy())  # <- here
    print(float(loss))  # <- here
    print(f"loss {loss:.3f}")  # <- here
    print("loss {:.3f}".format(loss))  # <- here
    print("loss %.3f" % loss)  # <- here
    logging.info("loss %.3f", loss)  # <- here
#: formatted by a text that has a name
STEP
shown = "loss {:.3f}"
numbers = "loss %.3f"
LOOP
    loss = step(batch)
    print(shown.format(loss))  # <- here
    print(numbers % loss)  # <- here
#: without a name, and from strategy.run itself
STEP
LOOP
    print(step(batch).numpy())  # <- here
    print(strategy.run(replica_step, args=(batch,)).numpy())  # <- here
#: computed with, and compared
STEP
total, best = 0.0, 1.0
LOOP
    loss = step(batch)
    total += loss  # <- here
    mean = loss / 8  # <- here
    if loss < best:  # <- here
        best = 1 - loss  # <- here
#: in a process that sees two devices
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
STEP
LOOP
    print("%.3f" % step(batch))  # <- here
#: in place
STEP
LOOP
    loss = step(batch)
    loss /= 8  # <- here
#: kept in a list that is averaged
STEP
losses = []
LOOP
    losses.append(step(batch))  # <- here
print(np.mean(losses))
#: listed and added up
STEP
losses = [step(batch) for batch in BATCHES]
print(sum(losses) / len(losses))  # <- here
print(sum(step(batch) for batch in BATCHES))  # <- here
#: reduced by TensorFlow, also where strategy.run is called
@tf.function
def step(batch):
    losses = strategy.run(lambda each: each * 2, args=(batch,))
    return tf.reduce_mean(losses)  # <- here
LOOP
    step(batch)
#: counted by a metric
STEP
mean = keras.metrics.Mean()
LOOP
    mean.update_state(step(batch))  # <- here
#: parts of what is returned
def replica_step(batch):
    return {"sum": tf.reduce_sum(batch)}, tf.size(batch)
@tf.function
def step(batch):
    return strategy.run(replica_step, args=(batch,))
LOOP
    found, size = step(batch)
    print(found["sum"].numpy())  # <- here
    for name, value in found.items():
        print(f"{name}: {value:.3f}")  # <- here
    print(int(size))  # <- here
#: members of a class, shown by a function
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
    def replica_step(self, batch):
        return tf.reduce_sum(batch)
    @tf.function
    def step(self, batch):
        return self.strategy.run(self.replica_step, args=(batch,))
    def train(self):
        for batch in self.strategy.experimental_distribute_dataset(data):
            show(self.step(batch))
def show(loss):
    print(loss.numpy())  # <- here
Trainer().train()
#: a batch that is distributed
LOOP
    print(batch.numpy())  # <- here
#: made one later
STEP
LOOP
    loss = step(batch)
    print(loss.numpy())  # <- here
    loss = strategy.reduce("SUM", loss, axis=None)
    print(loss.numpy())
"""

GOOD = """
#: made one
STEP
losses = []
LOOP
    each = step(batch)
    loss = strategy.reduce("MEAN", each, axis=None)
    losses.append(loss)
    print(loss.numpy(), f"{loss:.3f}", float(loss) / 8)
    print(strategy.experimental_local_results(each)[0].numpy())
    print(strategy.gather(each, axis=0).numpy())
    print(each.values[0].numpy())
    tf.print(each)
    print(each)
print(np.mean(losses))
#: made one by the function
@tf.function
def step(batch):
    return strategy.reduce("SUM", strategy.run(lambda each: each, args=(batch,)), axis=None)
LOOP
    print(step(batch).numpy())
#: on the replica it is a tensor
def replica_step(batch):
    return scaled(batch) / 2
def scaled(batch):
    return tf.reduce_sum(batch) * 3
@tf.function
def step(batch):
    return strategy.run(replica_step, args=(batch,))
LOOP
    step(batch)
#: kept, and made one together
STEP
kept = []
LOOP
    kept.append(step(batch))
print(np.mean([strategy.reduce("SUM", each, axis=None) for each in kept]))
#: one device
strategy = tf.distribute.OneDeviceStrategy("GPU:0")
STEP
LOOP
    print(step(batch).numpy())
#: whoever asks how many replicas there are
STEP
LOOP
    loss = step(batch)
    if strategy.num_replicas_in_sync == 1:
        print(loss.numpy())
    print(loss.values if hasattr(loss, "values") else loss.numpy())
#: one of two, by the number of replicas
STEP
count = strategy.num_replicas_in_sync
LOOP
    each = step(batch)
    loss = tf.reduce_mean(each.values) if count > 1 else each
    print(loss.numpy())
    if num_gpus > 1:
        each = strategy.reduce("SUM", each, axis=None)
    print(f"{each:.3f}")
#: a strategy of one device beside another
def alone():
    strategy = tf.distribute.OneDeviceStrategy("GPU:0")
    for batch in data:
        print("%.3f" % strategy.run(tf.reduce_sum, args=(batch,)))
def first():
    strategy = tf.distribute.MirroredStrategy(["GPU:0"])
    for batch in data:
        print("%.3f" % strategy.run(tf.reduce_sum, args=(batch,)))
#: a process that sees one device
import os
os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
STEP
LOOP
    print("%.3f" % step(batch))
#: the same on all replicas
steps = tf.Variable(0)
def replica_step(batch):
    return steps, 3, tf.reduce_sum(batch)
@tf.function
def step(batch):
    return strategy.run(replica_step, args=(batch,))
LOOP
    done, count, _ = step(batch)
    print(done.numpy(), count + 1)
#: a wrapper that may make one of it
STEP
@reduced
def wrapped(batch):
    return step(batch)
LOOP
    print(wrapped(batch).numpy())
#: what replicas merge is read once for all
def merged(strategy, each):
    return strategy.extended.reduce_to("SUM", each, "CPU:0") / 2
def replica_step(batch):
    return tf.distribute.get_replica_context().merge_call(merged, args=(batch,))
@tf.function
def step(batch):
    return strategy.run(replica_step, args=(batch,))
LOOP
    step(batch)
#: another strategy than one of TensorFlow
strategy = Moving(average)
def trade(strategy):
    print(strategy.run(prices) / 2)
#: parameter servers, whose workers are one replica each
strategy = tf.distribute.ParameterServerStrategy(resolver)
STEP
def work(iterator):
    print(step(next(iterator)).numpy())
"""

RUN = "@tf.function\ndef step(batch):\n    return strategy.run(replica_step, args=(batch,))"
STEPS = "RUN\nLOOP\n    step(batch)"

INSIDE_RULE = "strategy-in-replica"

INSIDE_BAD = """
#: a scope
def replica_step(batch):
    with strategy.scope():  # <- here
        return tf.reduce_sum(batch)
STEPS
#: in a function that is called on the replica
def total(batch):
    with strategy.scope():  # <- here
        return tf.reduce_sum(batch)
def replica_step(batch):
    return total(batch)
STEPS
#: a dataset that is distributed
def replica_step(batch):
    for each in strategy.experimental_distribute_dataset(data):  # <- here
        tf.reduce_sum(each)
    others = iter(strategy.distribute_datasets_from_function(lambda context: data))  # <- here
STEPS
#: a sum over the replicas, and a run in a run
def replica_step(batch):
    strategy.run(lambda: tf.reduce_sum(batch))  # <- here
    return strategy.reduce("SUM", tf.reduce_sum(batch), axis=None)  # <- here
STEPS
#: a method
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
    def replica_step(self, batch):
        with self.strategy.scope():  # <- here
            return tf.reduce_sum(batch)
    @tf.function
    def step(self, batch):
        return self.strategy.run(self.replica_step, args=(batch,))
"""

INSIDE_GOOD = """
#: a scope around it
def replica_step(batch):
    return tf.reduce_sum(batch) / strategy.num_replicas_in_sync
@tf.function
def step(batch):
    with strategy.scope():
        each = strategy.run(replica_step, args=(batch,))
    return strategy.reduce("SUM", each, axis=None)
#: by the context of the replica
def replica_step(batch):
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.reduce_sum(batch))
STEPS
#: where the replicas are merged
def merged(strategy, each):
    return strategy.reduce("SUM", each, axis=None)
def replica_step(batch):
    return tf.distribute.get_replica_context().merge_call(merged, args=(batch,))
STEPS
#: a function that asks where it is
def total(batch):
    each = tf.reduce_sum(batch)
    if tf.distribute.in_cross_replica_context():
        return strategy.reduce("SUM", each, axis=None)
    return each
def replica_step(batch):
    return total(batch)
STEPS
"""

CREATED_RULE = "created-in-replica"

CREATED_BAD = """
#: a variable, an optimizer, a model, a metric and a generator
def replica_step(batch):
    counter = tf.Variable(0)  # <- here
    optimizer = keras.optimizers.SGD(0.1)  # <- here
    model = keras.Sequential([keras.layers.Dense(1)])  # <- here
    mean = keras.metrics.Mean()  # <- here
    noise = tf.random.Generator.from_seed(1)  # <- here
STEPS
#: in a function that is called on the replica
def make_model():
    return keras.Sequential([keras.layers.Dense(1)])  # <- here
def replica_step(batch):
    return make_model()(batch)
STEPS
#: a model of a class
class Net(keras.Model):
    pass
def replica_step(batch):
    return Net()(batch)  # <- here
STEPS
#: run from Python
def replica_step(batch):
    return tf.Variable(1.0) * batch  # <- here
LOOP
    strategy.run(replica_step, args=(batch,))
"""

CREATED_GOOD = """
#: once
seen = []
def replica_step(batch):
    if not seen:
        seen.append(tf.Variable(0))
    return seen[0] + batch
STEPS
#: once, by a function
model = None
def make_model():
    return keras.Sequential([keras.layers.Dense(1)])
def replica_step(batch):
    global model
    if model is None:
        model = make_model()
    return model(batch)
STEPS
#: a single run that creates them
def create():
    return tf.Variable(0)
variables = strategy.run(create)
#: in the scope
with strategy.scope():
    counter = tf.Variable(0)
    def make_model():
        return keras.Sequential([keras.layers.Dense(1)])
    model = make_model()
def replica_step(batch):
    loss = keras.losses.MeanSquaredError()
    return model(batch)
STEPS
"""
