"""What belongs around strategy.run, in what it runs."""

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
rows = tf.data.Dataset.from_tensor_slices((tf.ones((64, 4)), tf.ones((64, 1)))).batch(8)
built = []


def new_model():
    with strategy.scope():  # strategy-in-replica
        return tf.keras.Sequential([tf.keras.layers.Dense(1)])  # created-in-replica


def of_replica(features, labels):
    optimizer = tf.keras.optimizers.SGD(0.1)  # created-in-replica
    model = new_model()
    with tf.GradientTape() as tape:
        error = tf.reduce_sum(tf.square(model(features) - labels)) / 8
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(error, weights), weights))
    return strategy.reduce("SUM", error, axis=None)  # strategy-in-replica


def with_steps(features, labels):
    if not built:
        built.append(tf.Variable(0))
    built[0].assign_add(1)
    rest = strategy.experimental_distribute_dataset(rows)  # strategy-in-replica
    return tf.reduce_sum(features), rest


@tf.function
def step(features, labels):
    strategy.run(of_replica, args=(features, labels))
    strategy.run(with_steps, args=(features, labels))


for x, y in strategy.experimental_distribute_dataset(rows):
    step(x, y)
