"""Random numbers drawn on each replica from one seed, or not; each program follows its name."""

IMPORTS = """
from functools import partial
import keras
import numpy as np
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
"""
RULE = "one-seed-for-replicas"

BAD = """
#: a seed at the start
tf.random.set_seed(7)
def step():
    return tf.random.normal((2,))  # <- here
@tf.function
def train():
    return strategy.run(step)
#: drawn by a function that the step calls
tf.random.set_seed(7)
def noise(shape):
    return tf.random.truncated_normal(shape)  # <- here
def step(batch):
    return batch + noise(batch.shape)
strategy.run(step, args=(batch,))
#: a seed of Keras
keras.utils.set_random_seed(7)
strategy.run(lambda: tf.random.uniform((2,)))  # <- here
#: a seed set by a function
SEED = 7
def prepare():
    tf.random.set_seed(SEED)
def main():
    prepare()
    strategy.run(lambda: tf.random.uniform((2,)))  # <- here
main()
#: methods
class Trainer:
    def __init__(self, seed):
        tf.random.set_seed(seed)
        self.strategy = tf.distribute.MirroredStrategy()
    def step(self, images):
        noise = tf.random.normal([64, 100])  # <- here
        return self.generator(noise), images
    @tf.function
    def train(self, images):
        return self.strategy.run(self.step, args=(images,))
#: dropout
tf.random.set_seed(7)
strategy.run(lambda batch: tf.nn.dropout(batch, 0.5), args=(batch,))  # <- here
#: augmentation
tf.random.set_seed(7)
def step(images):
    images = tf.image.random_flip_left_right(images)  # <- here
    return model(images)
strategy.run(step, args=(images,))
#: a layer of its own
tf.random.set_seed(7)
class Noise(keras.layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.normal(tf.shape(inputs))  # <- here
with strategy.scope():
    model = keras.Sequential([Noise(), keras.layers.Dense(1)])
strategy.run(lambda batch: model(batch), args=(batch,))
#: the old functions of Keras
tf.random.set_seed(7)
strategy.run(lambda: tf.keras.backend.random_normal((2,)))  # <- here
#: a seed of the operation
strategy.run(lambda: tf.random.uniform((2,), seed=3))  # <- here
#: a seed of the operation, by its name
SEED = 3
def step():
    return tf.random.uniform((2,), seed=SEED)  # <- here
strategy.run(step)
#: a seed on each replica
def step():
    tf.random.set_seed(7)
    return tf.random.uniform((2,))  # <- here
strategy.run(step)
#: a train step of Keras
tf.random.set_seed(7)
class GAN(keras.Model):
    def train_step(self, images):
        noise = tf.random.normal((64, 100))  # <- here
        return self.generator(noise)
with strategy.scope():
    gan = GAN()
gan.fit(images)
"""

GOOD = """
#: no seed
strategy.run(lambda: tf.random.uniform((2,)))
#: a generator from the scope
tf.random.set_seed(7)
with strategy.scope():
    generator = tf.random.Generator.from_seed(7)
strategy.run(lambda: generator.uniform((2,)))
#: stateless, with the replica's number
tf.random.set_seed(7)
def step():
    number = tf.distribute.get_replica_context().replica_id_in_sync_group
    return tf.random.stateless_uniform((2,), seed=(7, number))
strategy.run(step)
#: the operation's seed holds the replica's number
def step():
    context = tf.distribute.get_replica_context()
    return tf.random.uniform((2,), seed=context.replica_id_in_sync_group)
strategy.run(step)
#: a seed for each worker
tf.random.set_seed(7 + strategy.cluster_resolver.task_id)
strategy.run(lambda: tf.random.uniform((2,)))
#: a seed for each worker, in several lines
rank = int(os.environ["RANK"])
seed = 7 + rank
tf.random.set_seed(seed)
strategy.run(lambda: tf.random.uniform((2,)))
#: drawn outside
tf.random.set_seed(7)
noise = tf.random.uniform((2,))
strategy.run(lambda each: each + 1, args=(noise,))
#: one device
strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
tf.random.set_seed(7)
strategy.run(lambda: tf.random.uniform((2,)))
#: only the first weights
tf.random.set_seed(7)
with strategy.scope():
    weights = tf.Variable(tf.random.normal((2,)))
strategy.run(lambda: weights + 1)
#: a variable that the replicas create
tf.random.set_seed(7)
def create():
    return tf.Variable(tf.random.normal((2,)))
strategy.run(create)
#: in a map of the dataset
tf.random.set_seed(7)
dataset = dataset.map(lambda image: tf.image.random_flip_left_right(image))
strategy.run(lambda batch: model(batch), args=(batch,))
#: a layer of its own, without a strategy that runs it
tf.random.set_seed(7)
class Noise(keras.layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.normal(tf.shape(inputs))
keras.Sequential([Noise(), keras.layers.Dense(1)]).predict(images)
#: a function of the same name
def set_seed(seed):
    return seed
set_seed(7)
strategy.run(lambda: tf.random.uniform((2,)))
#: no seed for the operation
strategy.run(lambda: tf.random.uniform((2,), seed=None))
"""
