import keras
import numpy as np

x, y = np.ones((96, 5, 3), "float32"), np.ones((96, 1), "float32")
cells = keras.Sequential(
    [keras.layers.Bidirectional(keras.layers.GRU(4, stateful=True), name="both")]
)
model = keras.Sequential([keras.Input(batch_shape=(12, 5, 3)), cells, keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=12, shuffle=False, verbose=0)
