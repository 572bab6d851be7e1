"""A mean is updated by each replica's share of the loss."""

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
GLOBAL = 16 * strategy.num_replicas_in_sync
with strategy.scope():
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.SGD(0.1)
    shown = tf.keras.metrics.Mean()
    squared = tf.keras.losses.MeanSquaredError(reduction="none")


def step(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(squared(y, net(x)), global_batch_size=GLOBAL)
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    shown.update_state(loss)  # share-in-mean


@tf.function
def train(batch):
    strategy.run(step, args=(batch,))


rows = tf.data.Dataset.from_tensor_slices((tf.ones((160, 3)), tf.ones((160, 1)))).batch(GLOBAL)
for batch in strategy.experimental_distribute_dataset(rows):
    train(batch)
print(float(shown.result()))
