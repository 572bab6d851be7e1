"""Training with a step of your own: dict inputs, sample weights and a custom metric.

`AdversarialModel` trains on inputs that are shifted against it (the fast gradient sign method).
autotune times this very step, and whatever else the model was compiled with, on one device and
under every strategy.

    autotune tune examples/user_step.py:model_fn examples/user_step.py:dataset_fn
"""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 8192
NUMBERS = 16
KINDS = 4
TOLERANCE = 0.5


class AdversarialModel(keras.Model):
    """Trains on examples that are moved a little in the direction of a higher loss."""

    def train_step(
        self, data: tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]
    ) -> dict[str, tf.Tensor]:
        """Shift the inputs, take one step on them, and return the metrics."""
        inputs, labels, weights = data
        with tf.GradientTape() as tape:
            tape.watch(inputs["numbers"])
            loss = self.compute_loss(inputs, labels, self(inputs, training=True), weights)
        shift = 0.05 * tf.sign(tape.gradient(loss, inputs["numbers"]))
        shifted = {**inputs, "numbers": inputs["numbers"] + shift}

        with tf.GradientTape() as tape:
            predictions = self(shifted, training=True)
            loss = self.compute_loss(shifted, labels, predictions, weights)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))

        # Keras divides the loss by the number of replicas, because their gradients are summed;
        # the loss that is shown is the mean over the examples, so that is undone here.
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss * replicas)
        return dict(self.compute_metrics(shifted, labels, predictions, weights))


class WithinTolerance(keras.metrics.Mean):
    """The weighted share of predictions that are off by less than the tolerance."""

    def update_state(
        self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: tf.Tensor | None = None
    ) -> None:
        """Add one batch."""
        hits = tf.cast(tf.abs(y_pred - y_true) < TOLERANCE, tf.float32)
        super().update_state(hits, sample_weight)


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a regression from numbers and a category."""
    numbers = keras.Input((NUMBERS,), name="numbers")
    kind = keras.Input((), dtype="int32", name="kind")
    embedded = keras.layers.Embedding(KINDS, 8)(kind)
    hidden = keras.layers.Concatenate()([numbers, embedded])
    hidden = keras.layers.Dense(units, activation="relu")(hidden)
    output = keras.layers.Dense(1)(hidden)
    model = AdversarialModel({"numbers": numbers, "kind": kind}, output)
    metric = WithinTolerance(name="within_tolerance")
    model.compile(optimizer="adam", loss="mse", weighted_metrics=[metric])
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return features, a value that depends on the kind, and a higher weight for rare kinds."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((EXAMPLES, NUMBERS), dtype=np.float32)
    kinds = rng.choice(KINDS, size=EXAMPLES, p=[0.4, 0.3, 0.2, 0.1]).astype(np.int32)
    values = numbers.mean(axis=1, keepdims=True) + kinds[:, np.newaxis].astype(np.float32)
    weights = np.where(kinds == KINDS - 1, 2.0, 1.0).astype(np.float32)
    features = {"numbers": numbers, "kind": kinds}
    return tf.data.Dataset.from_tensor_slices((features, values, weights))
