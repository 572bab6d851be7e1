"""A PyDataset of 36 batches, the last of which is smaller: 4,500 examples."""

import keras
import numpy as np

x, y = np.random.rand(4500, 4).astype("float32"), np.random.rand(4500, 1).astype("float32")


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 36

    def __getitem__(self, index):
        here = slice(index * 128, (index + 1) * 128)
        return x[here], y[here]


model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(Rows(), epochs=2)
