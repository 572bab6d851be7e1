"""Pictures are flipped before they are cached."""

import numpy as np
import tensorflow as tf

images = np.random.rand(400, 8, 8, 3).astype("float32")
pictures = tf.data.Dataset.from_tensor_slices((images, np.arange(400) % 2))
flipped = pictures.map(lambda x, y: (tf.image.random_flip_left_right(x), y))
train = flipped.cache().shuffle(400).batch(20)  # random-before-cache
model = tf.keras.Sequential(
    [tf.keras.layers.Flatten(), tf.keras.layers.Dense(1, activation="sigmoid")]
)
model.compile("adam", "binary_crossentropy")
model.fit(train, epochs=2)
