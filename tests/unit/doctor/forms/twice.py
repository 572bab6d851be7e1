"""A loss divided a second time, or once as it should be; each program follows its name."""

IMPORTS = """
import keras
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
PER_REPLICA = 32
GLOBAL_BATCH = PER_REPLICA * strategy.num_replicas_in_sync
plain = keras.losses.MeanSquaredError()
each_loss = keras.losses.MeanSquaredError(reduction="none")
optimizer = keras.optimizers.Adam()
"""
STEP = "def step(x, y):\n    with tf.GradientTape() as tape:"
RUN = """
    tape.gradient(loss, model.trainable_variables)
strategy.run(step, args=(x, y))
"""
RULE = "loss-divided-twice"

BAD = """
#: in place
STEP
        loss = plain(y, model(x))
        loss /= strategy.num_replicas_in_sync  # <- here
RUN
#: a share kept in a name
SHARE = 1.0 / strategy.num_replicas_in_sync
STEP
        loss = SHARE * plain(y, model(x))  # <- here
RUN
#: a mean, and then the batch
STEP
        loss = tf.reduce_mean(each_loss(y, model(x))) / GLOBAL_BATCH  # <- here
RUN
#: a mean by the batch as a factor
STEP
        error = tf.reduce_mean(tf.square(y - model(x)))
        loss = error * (1.0 / GLOBAL_BATCH)  # <- here
RUN
#: a sum by the batch, and then the replicas
STEP
        loss = tf.reduce_sum(each_loss(y, model(x))) / GLOBAL_BATCH
        scaled = loss / tf.cast(strategy.num_replicas_in_sync, tf.float32)  # <- here
    tape.gradient(scaled, model.trainable_variables)
strategy.run(step, args=(x, y))
#: the second time in a function
def per_replica(loss):
    return loss / strategy.num_replicas_in_sync
def loss_of(y, p):
    return tf.nn.compute_average_loss(each_loss(y, p), global_batch_size=GLOBAL_BATCH)
STEP
        loss = loss_of(y, model(x)) / strategy.num_replicas_in_sync  # <- here
RUN
#: a regularization beside it
STEP
        loss = plain(y, model(x))
        loss += tf.nn.scale_regularization_loss(model.losses[0]) / strategy.num_replicas_in_sync
        total = loss / strategy.num_replicas_in_sync  # <- here
    tape.gradient(total, model.trainable_variables)
strategy.run(step, args=(x, y))
#: by a method, minimized
class Trainer:
    def loss(self, y, p):
        return tf.nn.compute_average_loss(y - p) * (1 / strategy.num_replicas_in_sync)  # <- here
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, model(x))
        tape.gradient(loss, model.trainable_variables)
    def train(self, x, y):
        strategy.run(self.step, args=(x, y))
#: in a train_step of Keras
class Model(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = plain(y, self(x)) / self.distribute_strategy.num_replicas_in_sync  # <- here
        tape.gradient(loss, self.trainable_variables)
with strategy.scope():
    model = Model()
"""

GOOD = """
#: a mean by the replicas
STEP
        loss = tf.reduce_mean(each_loss(y, model(x))) / strategy.num_replicas_in_sync
RUN
#: the average over one replica's batch, by the replicas
STEP
        loss = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=PER_REPLICA)
        loss /= strategy.num_replicas_in_sync
RUN
#: a loss that sums
total = keras.losses.MeanSquaredError(reduction="sum")
STEP
        loss = total(y, model(x)) / GLOBAL_BATCH
RUN
#: divided for the log only
STEP
        loss = plain(y, model(x))
    tape.gradient(loss, model.trainable_variables)
    return loss / strategy.num_replicas_in_sync
strategy.run(step, args=(x, y))
#: divided by the steps that are accumulated
STEP
        loss = plain(y, model(x)) / ACCUMULATED
RUN
#: multiplied, to undo it
STEP
        loss = plain(y, model(x)) * strategy.num_replicas_in_sync
RUN
#: only on one of two ways
STEP
        if ours:
            loss = plain(y, model(x))
        else:
            loss = tf.reduce_mean(each_loss(y, model(x)))
        loss /= strategy.num_replicas_in_sync
RUN
#: a loss of the batch that is summed first
STEP
        loss = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=BATCH)
        loss = loss / strategy.num_replicas_in_sync
RUN
"""
