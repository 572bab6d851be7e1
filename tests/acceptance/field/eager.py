import keras
import numpy as np

x, y = np.ones((640, 16), "float32"), np.ones((640, 1), "float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(x, y, batch_size=32, epochs=2, verbose=0)
