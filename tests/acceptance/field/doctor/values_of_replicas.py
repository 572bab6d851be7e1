"""What strategy.run returns holds a value for each replica, and is no tensor."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    seen = tf.keras.metrics.Mean()


class Evaluation:
    def __init__(self, data):
        self.batches = strategy.experimental_distribute_dataset(data)
        self.losses = []

    def of_replica(self, features, labels):
        errors = tf.square(model(features) - labels)
        return tf.reduce_sum(errors), {"largest": tf.reduce_max(errors)}

    @tf.function
    def of_all(self, features, labels):
        return strategy.run(self.of_replica, args=(features, labels))

    def run(self):
        largest = 0.0
        for features, labels in self.batches:
            loss, more = self.of_all(features, labels)
            self.losses.append(loss)  # per-replica-as-tensor
            largest = max(largest, more["largest"])  # per-replica-as-tensor
            seen.update_state(loss)  # per-replica-as-tensor
        return np.mean(self.losses), largest


@tf.function
def total(features, labels):
    each = strategy.run(lambda x, y: tf.reduce_sum(x * y), args=(features, labels))
    return each / strategy.num_replicas_in_sync  # per-replica-as-tensor


@tf.function
def reduced(features, labels):
    each = strategy.run(lambda x, y: tf.reduce_sum(x * y), args=(features, labels))
    tf.print(each)
    return strategy.reduce("SUM", each, axis=None) / 2


@tf.function
def every(features, labels):
    return strategy.run(lambda x, y: tf.reduce_sum(x * y), args=(features, labels))


def show(value):
    print(f"{value:.3f}")  # per-replica-as-tensor


rows = tf.data.Dataset.from_tensor_slices((tf.ones((64, 4)), tf.ones((64, 1)))).batch(8)
print(Evaluation(rows).run())
for x, y in strategy.experimental_distribute_dataset(rows):
    print(total(x, y), reduced(x, y).numpy(), strategy.experimental_local_results(every(x, y)))
    show(every(x, y))
    print(every(x, y).numpy())  # per-replica-as-tensor
