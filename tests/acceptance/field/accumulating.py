import keras
import numpy as np

x, y = np.ones((640, 16), "float32"), np.ones((640, 1), "float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01, gradient_accumulation_steps=3), "mse")
model.fit(x, y, batch_size=16, verbose=0)
