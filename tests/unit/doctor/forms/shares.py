"""Shares of a loss that are averaged, or added up as they should; each program follows its name."""

IMPORTS = """
import keras
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
BATCH = 16
GLOBAL_BATCH = BATCH * strategy.num_replicas_in_sync
each_loss = keras.losses.MeanSquaredError(reduction="none")
plain = keras.losses.MeanSquaredError()
with strategy.scope():
    shown = keras.metrics.Mean(name="loss")
    summed = keras.metrics.Sum()
"""
RUN = "strategy.run(step, args=(x, y))"
RULE = "share-in-mean"

BAD = """
#: every way to divide
def step(x, y):
    losses = each_loss(y, model(x))
    average = tf.nn.compute_average_loss(losses)
    shown.update_state(average)  # <- here
    shown(average)  # <- here
    shown.update_state(tf.reduce_sum(losses) / GLOBAL_BATCH)  # <- here
    shown.update_state(tf.reduce_sum(losses) * (1.0 / GLOBAL_BATCH))  # <- here
    mean = tf.reduce_mean(losses) / strategy.num_replicas_in_sync
    shown(values=mean)  # <- here
    shown.update_state(plain(y, model(x)))  # <- here
    shown.update_state(tf.nn.scale_regularization_loss(tf.add_n(model.losses)))  # <- here
RUN
#: in place, in a function, and with a regularization beside it
def loss_of(x, y):
    return tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=GLOBAL_BATCH)
def step(x, y):
    loss = tf.reduce_mean(each_loss(y, model(x)))
    loss /= strategy.num_replicas_in_sync
    shown.update_state(loss)  # <- here
    total = loss_of(x, y) + weight_decay(model)
    shown.update_state(total)  # <- here
    other = loss_of(x, y)
    other += tf.add_n(model.losses)
    shown.update_state(other)  # <- here
RUN
#: by the batch that is distributed
rows = strategy.experimental_distribute_dataset(rows.batch(BATCH))
def step(x, y):
    loss = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=BATCH)
    shown.update_state(loss)  # <- here
RUN
#: a metric of a class, in a dictionary, and given to a function
class Trainer:
    def __init__(self):
        self.shown = keras.metrics.Mean()
        self.metrics = {"loss": keras.metrics.Mean()}
    def step(self, x, y):
        losses = each_loss(y, self.model(x))
        loss = tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)
        self.shown.update_state(loss)  # <- here
        self.metrics["loss"].update_state(loss)  # <- here
        note(self.shown, loss)
    def train(self, x, y):
        strategy.run(self.step, args=(x, y))
def note(metric, value):
    metric(value)  # <- here
Trainer().train(x, y)
#: the mean of what replicas return, under each of its names
@tf.function
def train(x, y):
    return strategy.run(step, args=(x, y))
def step(x, y):
    return tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=GLOBAL_BATCH)
loss = strategy.reduce("MEAN", train(x, y), axis=None)  # <- here
results = train(x, y)
loss = strategy.reduce(tf.distribute.ReduceOp.MEAN, results, axis=None)  # <- here
#: one of several results
def step(x, y):
    outputs = model(x)
    return outputs, tf.nn.compute_average_loss(each_loss(y, outputs))
outputs, losses = strategy.run(step, args=(x, y))
outputs = strategy.reduce("MEAN", outputs, axis=0)
loss = strategy.reduce("MEAN", losses, axis=None)  # <- here
#: steps of Keras, to train and to test
class Net(keras.Model):
    def __init__(self):
        self.tracker = keras.metrics.Mean(name="loss")
    def train_step(self, data):
        x, y = data
        loss = self.compute_loss(y=y, y_pred=self(x))
        self.tracker.update_state(loss)  # <- here
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)  # <- here
            else:
                metric.update_state(y, self(x))
        return {"loss": self.tracker.result(), "share": loss}  # <- here
    def test_step(self, data):
        x, y = data
        return dict(loss=plain(y, self(x)))  # <- here
with strategy.scope():
    net = Net()
net.fit(rows)
"""

GOOD = """
#: losses of the examples, their mean, and shares that are added up or scaled
def step(x, y):
    losses = each_loss(y, model(x))
    share = tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)
    shown.update_state(losses)
    shown.update_state(tf.reduce_mean(losses))
    shown.update_state(share * strategy.num_replicas_in_sync)
    summed.update_state(share)
    shown.update_state(keras.losses.mean_squared_error(y, model(x)))
    shown.update_state(plain(y, model(x)) * 2)
    return share
@tf.function
def train(x, y):
    return strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None)
shown.update_state(train(x, y))
#: an average over one replica's batch
def step(x, y):
    losses = each_loss(y, model(x))
    shown.update_state(tf.nn.compute_average_loss(losses, global_batch_size=tf.shape(losses)[0]))
    shown.update_state(tf.reduce_sum(losses) / tf.cast(len(losses), tf.float32))
RUN
#: an average over the batch of a replica, which its function makes
rows = strategy.distribute_datasets_from_function(lambda context: rows.batch(BATCH))
def step(x, y):
    losses = each_loss(y, model(x))
    shown.update_state(tf.nn.compute_average_loss(losses, global_batch_size=BATCH))
RUN
#: undone where it is shown
def step(x, y):
    shown.update_state(tf.nn.compute_average_loss(each_loss(y, model(x))))
RUN
print(float(shown.result()) * strategy.num_replicas_in_sync)
#: outside of replicas
loss = tf.nn.compute_average_loss(each_loss(y, model(x)), global_batch_size=GLOBAL_BATCH)
shown.update_state(loss)
#: a loss of its own in a step of Keras, and what has been unscaled
class Net(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return tf.reduce_mean(tf.square(y - y_pred))
    def train_step(self, data):
        x, y = data
        shown.update_state(self.compute_loss(y=y, y_pred=self(x)))
        shown.update_state(unscaled(plain(y, self(x))))
        return {metric.name: metric.result() for metric in self.metrics}
with strategy.scope():
    net = Net()
net.fit(rows)
#: what another object computes
class Net(keras.Model):
    def train_step(self, data):
        shown.update_state(self.criterion.compute_loss(data, self(data)))
        shown.update_state(criterion.compute_loss(data, self(data)))
with strategy.scope():
    net = Net()
net.fit(rows)
#: one device
strategy = tf.distribute.OneDeviceStrategy("CPU:0")
def step(x, y):
    shown.update_state(tf.nn.compute_average_loss(each_loss(y, model(x))))
RUN
"""
