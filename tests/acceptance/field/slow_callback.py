import time

import keras
import numpy as np


class Logger(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)


x, y = np.ones((640, 16), "float32"), np.ones((640, 1), "float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=32, epochs=2, callbacks=[Logger()], verbose=0)
