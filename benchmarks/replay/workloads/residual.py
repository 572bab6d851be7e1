"""A deep residual network on small images: it takes long to trace."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 4_096
SIZE = 24
CLASSES = 10


def model_fn(blocks: int = 18, filters: int = 16) -> keras.Model:
    """Build and compile residual blocks of two convolutions each."""
    inputs = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.Conv2D(filters, 3, strides=2, padding="same")(inputs)
    for _ in range(blocks):
        y = keras.layers.BatchNormalization()(x)
        y = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(keras.ops.relu(y))
        y = keras.layers.BatchNormalization()(y)
        y = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(keras.ops.relu(y))
        x = keras.layers.Add()([x, y])
    x = keras.layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, keras.layers.Dense(CLASSES)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.9), loss=loss)
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return images, flipped at random, in random order."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((EXAMPLES, SIZE, SIZE, 3), dtype=np.float32)
    labels = rng.integers(0, CLASSES, EXAMPLES)

    def flipped(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.image.random_flip_left_right(image), label

    images_and_labels = tf.data.Dataset.from_tensor_slices((images, labels))
    return images_and_labels.shuffle(EXAMPLES).map(flipped, num_parallel_calls=num_parallel_calls)
