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
#: in place, by a share, of a mean and of a sum
SHARE = 1.0 / strategy.num_replicas_in_sync
STEP
        loss = plain(y, model(x))
        loss /= strategy.num_replicas_in_sync  # <- here
        shared = SHARE * plain(y, model(x))  # <- here
        mean = tf.reduce_mean(each_loss(y, model(x))) / GLOBAL_BATCH  # <- here
        error = tf.reduce_mean(tf.square(y - model(x)))
        factor = error * (1.0 / GLOBAL_BATCH)  # <- here
        total = tf.reduce_sum(each_loss(y, model(x))) / GLOBAL_BATCH
        scaled = total / tf.cast(strategy.num_replicas_in_sync, tf.float32)  # <- here
    tape.gradient(shared, model.trainable_variables)
    tape.gradient(mean, model.trainable_variables)
    tape.gradient(factor, model.trainable_variables)
    tape.gradient(scaled, model.trainable_variables)
RUN
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
#: divided once: a mean, an average over one replica's batch, a sum, a batch that is summed first
total = keras.losses.MeanSquaredError(reduction="sum")
STEP
        mean = tf.reduce_mean(each_loss(y, model(x))) / strategy.num_replicas_in_sync
        loss = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=PER_REPLICA)
        loss /= strategy.num_replicas_in_sync
        whole = total(y, model(x)) / GLOBAL_BATCH
        summed = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=BATCH)
        summed = summed / strategy.num_replicas_in_sync
    tape.gradient(mean, model.trainable_variables)
    tape.gradient(whole, model.trainable_variables)
    tape.gradient(summed, model.trainable_variables)
RUN
#: divided for the log only
STEP
        loss = plain(y, model(x))
    tape.gradient(loss, model.trainable_variables)
    return loss / strategy.num_replicas_in_sync
strategy.run(step, args=(x, y))
#: divided by the steps that are accumulated, or multiplied, to undo it
STEP
        loss = plain(y, model(x)) / ACCUMULATED
        undone = plain(y, model(x)) * strategy.num_replicas_in_sync
    tape.gradient(undone, model.trainable_variables)
RUN
#: only on one of two ways
STEP
        if ours:
            loss = plain(y, model(x))
        else:
            loss = tf.reduce_mean(each_loss(y, model(x)))
        loss /= strategy.num_replicas_in_sync
RUN
"""
