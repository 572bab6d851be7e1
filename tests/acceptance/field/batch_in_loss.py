import keras
import numpy as np
from keras import ops

SIZE = 24


def contrast(_, found):
    scores = ops.matmul(found, ops.transpose(found))
    wanted = ops.arange(SIZE)
    return ops.mean(keras.losses.sparse_categorical_crossentropy(wanted, scores, from_logits=True))


x, y = np.random.rand(240, 16).astype("float32"), np.zeros((240, 1), "float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8)])
model.compile("adam", contrast)
model.fit(x, y, batch_size=SIZE, verbose=0)
