"""Ways to ask for a batch on each replica, and ways that do not; each program follows its name."""

IMPORTS = """
import itertools
from functools import partial
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.range(64).batch(4).repeat()
numbers = iter(dataset)
"""
RULE = "next-in-replica"

BAD = """
#: in a lambda, of an iterator of any origin
streams = [iter(dataset) for _ in range(2)]
named = {"train": numbers}
for _ in range(3):
    strategy.run(lambda: next(numbers))  # <- here
    strategy.run(lambda batches=numbers: next(batches))  # <- here
    strategy.run(lambda: numbers.get_next())  # <- here
    strategy.run(lambda: next(streams[0]))  # <- here
    strategy.run(lambda: next(named["train"]))  # <- here
#: the iterator as a named argument
def step(batches):
    return tf.reduce_sum(next(batches))  # <- here
strategy.run(step, kwargs={"batches": numbers})
#: a new iterator on each replica
def step():
    return next(iter(dataset))  # <- here
strategy.run(fn=step)
#: in a function that gets strategy and iterator
@tf.function
def train(strategy, batches):
    for _ in tf.range(3):
        strategy.run(lambda: next(batches))  # <- here
train(strategy, numbers)
#: a dataset that is made in several steps, in a function
def make():
    made = tf.data.Dataset.range(64)
    made = made.map(double)
    made = made.batch(4)
    return made
batches = iter(make())
strategy.run(lambda: next(batches))  # <- here
#: in a comprehension over the dataset
strategy.run(lambda: [tf.reduce_sum(batch) for batch in dataset.take(2)])  # <- here
"""

GOOD = """
#: in the function that makes the dataset
def make(context):
    first = next(iter(dataset))
    return tf.data.Dataset.from_tensors(first).repeat()
strategy.distribute_datasets_from_function(make)
#: no iterator of a dataset
from data import batches
class Stream:
    def __next__(self):
        return 1
count, stream = itertools.count(), Stream()
strategy.run(lambda: next(count))
strategy.run(lambda: next(stream))
strategy.run(lambda: next(batches))
strategy.run(lambda: queue.get_next())
strategy.run(lambda: tf.print(numbers.element_spec))
#: a loop over the batch
def step(batch):
    for each in tf.unstack(batch):
        train(each)
strategy.run(step, args=(batch,))
#: one device
strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
strategy.run(lambda: next(numbers))
#: each replica takes its share
def step():
    context = tf.distribute.get_replica_context()
    number = context.replica_id_in_sync_group
    return next(iter(dataset.shard(context.num_replicas_in_sync, number)))
strategy.run(step)
#: a parameter that gets something else
def step(batches):
    return next(batches)
strategy.run(step, args=(make_batches(),))
#: another name of the same spelling
def step(next):
    return next(numbers)
strategy.run(step, args=(tf.shape,))
"""

WHOLE_RULE = "dataset-not-distributed"
WHOLE_BAD = """
#: a lambda that holds the batch
for batch in dataset:
    strategy.run(lambda: step(batch))  # <- here
#: partial holds the batch
def step(batch):
    return tf.reduce_sum(batch)
for batch in dataset:
    strategy.run(partial(step, batch))  # <- here
"""
WHOLE_GOOD = """
#: once, to create the variables
first = next(numbers)
strategy.run(lambda: model(first))
#: the replica takes its share
for batch in dataset:
    def step():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.reduce_sum(batch[number])
    strategy.run(step)
#: one device
strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
for batch in dataset:
    strategy.run(lambda: step(batch))
#: only its shape
for batch in dataset:
    strategy.run(lambda: tf.zeros(batch.shape))
"""
