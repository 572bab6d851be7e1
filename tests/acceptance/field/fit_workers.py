"""By itself: TypeError, as fit(workers=, use_multiprocessing=) ended with Keras 3."""

import numpy as np
import tensorflow as tf


class Rows(tf.keras.utils.PyDataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(Rows(), epochs=2, workers=4, use_multiprocessing=True)
