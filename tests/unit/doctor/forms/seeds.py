"""Random numbers drawn on each replica from one seed, or not; each program follows its name."""

IMPORTS = """
import keras
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
"""
RULE = "one-seed-for-replicas"

BAD = """
#: every way to draw
tf.random.set_seed(7)
def step(images):
    noise = tf.random.normal((2,))  # <- here
    kept = tf.nn.dropout(images, 0.5)  # <- here
    turned = tf.image.random_flip_left_right(images)  # <- here
    old = tf.keras.backend.random_normal((2,))  # <- here
    return model(noise, kept, turned, old)
@tf.function
def train(images):
    return strategy.run(step, args=(images,))
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
#: a layer of its own
tf.random.set_seed(7)
class Noise(keras.layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.normal(tf.shape(inputs))  # <- here
with strategy.scope():
    model = keras.Sequential([Noise(), keras.layers.Dense(1)])
strategy.run(lambda batch: model(batch), args=(batch,))
#: a seed of the operation, also by its name
SEED = 3
strategy.run(lambda: tf.random.uniform((2,), seed=3))  # <- here
strategy.run(lambda: tf.random.uniform((2,), seed=SEED))  # <- here
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
#: no seed, of the program or of the operation
strategy.run(lambda: tf.random.uniform((2,)))
strategy.run(lambda: tf.random.uniform((2,), seed=None))
#: not on replicas, or of another state
tf.random.set_seed(7)
with strategy.scope():
    generator = tf.random.Generator.from_seed(7)
    weights = tf.Variable(tf.random.normal((2,)))
strategy.run(lambda: generator.uniform((2,)) + weights)
noise = tf.random.uniform((2,))
strategy.run(lambda each: each + 1, args=(noise,))
dataset = dataset.map(lambda image: tf.image.random_flip_left_right(image))
strategy.run(lambda batch: model(batch), args=(batch,))
strategy.run(lambda: tf.Variable(tf.random.normal((2,))))
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
#: a seed for each worker, in several lines
rank = int(os.environ["RANK"])
seed = 7 + rank
tf.random.set_seed(seed)
strategy.run(lambda: tf.random.uniform((2,)))
#: one device
strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
tf.random.set_seed(7)
strategy.run(lambda: tf.random.uniform((2,)))
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
"""
