"""Trains a tiny model on several workers, with a loop of its own."""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

STEPS = 2


def main(
    argv: Sequence[str] | None = None, callbacks: Sequence[keras.callbacks.Callback] = ()
) -> None:
    """Train for ever; the arguments are not needed."""
    del argv
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)
    model.steps_per_execution = STEPS
    data = tf.data.Dataset.from_tensors(
        (np.ones((4, 8), "float32"), np.ones((4, 1), "float32"))
    ).repeat()
    iterator = iter(strategy.distribute_datasets_from_function(lambda _: data))

    def step(batch: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch[0]) - batch[1]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf.function
    def steps() -> tf.Tensor:
        loss = tf.constant(0.0)
        for _ in tf.range(STEPS):
            loss = strategy.reduce("MEAN", strategy.run(step, (next(iterator),)), axis=None)
        return loss

    for callback in callbacks:
        callback.set_model(model)
        callback.on_train_begin()
    call = 0
    while True:
        loss = steps()
        for callback in callbacks:
            callback.on_train_batch_end(call, {"loss": loss})
        call += 1
