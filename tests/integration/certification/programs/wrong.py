"""Factories with mistakes that nothing but a look at the training shows."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import tensorflow as tf

FEATURES = 8
EXAMPLES = 256


class OwnStep(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.out = keras.layers.Dense(1)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.out(inputs)

    def gradients(self, data: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        inputs, labels = data
        with tf.GradientTape() as tape:
            # The mistake: a mean over what this replica sees, where the sum of all is taken later.
            loss = tf.reduce_mean(tf.square(self(inputs, training=True) - labels))
        return loss, tape.gradient(loss, self.trainable_variables)


class WrongAverage(OwnStep):
    """Takes the mean over the replica, and adds up the gradients of all replicas."""

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Take a step that is too long by the number of replicas."""
        loss, gradients = self.gradients(data)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


class Drifting(OwnStep):
    """Lets every replica learn by itself."""

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Change only the copy of this worker."""
        loss, gradients = self.gradients(data)
        for variable, gradient in zip(self.trainable_variables, gradients, strict=True):
            variable.value.values[0].assign_sub(0.05 * gradient)
        return {"loss": loss}


def right() -> keras.Model:
    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1)])
    return compiled(model, keras.optimizers.SGD(0.01))


def wrong_average() -> keras.Model:
    """Return a model whose steps hardly show it: they are Adam's, whatever size gradients have."""
    return compiled(WrongAverage(), keras.optimizers.Adam(0.01))


def elsewhere() -> keras.Model:
    """Return a model with a layer that was built in a thread, to which the scope does not reach."""
    layer = keras.layers.BatchNormalization(center=False, scale=False)
    with ThreadPoolExecutor() as pool:
        pool.submit(layer.build, (None, FEATURES)).result()
    model = keras.Sequential([keras.Input((FEATURES,)), layer, keras.layers.Dense(1)])
    return compiled(model, keras.optimizers.SGD(0.01))


def drifting() -> keras.Model:
    return compiled(Drifting(), keras.optimizers.SGD(0.05))


def own_start() -> keras.Model:
    """Return a model that begins with weights which nobody has agreed on."""
    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1)])
    kernel = np.random.default_rng().normal(size=(FEATURES, 1))
    model.layers[-1].set_weights([kernel, np.zeros(1)])
    return compiled(model, keras.optimizers.SGD(0.01))


class LateDropout(keras.Layer):
    """Makes its dropout, and with it the generator of random numbers, only when it is built."""

    def build(self, shape: Any) -> None:
        self.drop = keras.layers.Dropout(0.5)
        self.drop.build(shape)

    def call(self, inputs: tf.Tensor, *, training: bool = False) -> tf.Tensor:
        return self.drop(inputs, training=training)


class Late(keras.Model):
    """A network that has no layers to speak of before it sees its first batch."""

    def __init__(self) -> None:
        super().__init__()
        self.late = LateDropout()
        self.out = keras.layers.Dense(1)

    def call(self, inputs: tf.Tensor, *, training: bool = False) -> tf.Tensor:
        return self.out(self.late(inputs, training=training))


def late_dropout() -> keras.Model:
    return compiled(Late(), keras.optimizers.SGD(0.01))


def compiled(model: keras.Model, optimizer: keras.optimizers.Optimizer) -> keras.Model:
    model.compile(optimizer=optimizer, loss="mse")
    return model


def data() -> tf.data.Dataset:
    numbers = np.random.default_rng(0).standard_normal((EXAMPLES, FEATURES)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((numbers, numbers.sum(axis=1, keepdims=True)))


def ignoring(input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Ask for the shares of the workers, and give everything to each."""
    del input_context
    return data()


def sharded(input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    return data().shard(input_context.num_input_pipelines, input_context.input_pipeline_id)


def unlike(batch_size: int, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Give worker 1 larger batches, of another type."""
    worker = input_context.input_pipeline_id
    dtype = tf.float64 if worker else tf.float32
    batches = sharded(input_context).batch(batch_size + worker, drop_remainder=True)
    return batches.map(lambda x, y: (x, tf.cast(y, dtype)))
