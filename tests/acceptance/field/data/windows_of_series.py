"""1,191 examples in windows of a series, in ten batches of which the last is smaller."""

import numpy as np
import tensorflow as tf

LONG = 10
series = tf.data.Dataset.from_tensor_slices(np.random.rand(1200, 3).astype("float32"))
windows = series.window(LONG, shift=1, drop_remainder=True)
windows = windows.flat_map(lambda w: w.batch(LONG, drop_remainder=True))
train = windows.map(lambda w: (w, w[-1])).batch(128).prefetch(2)
model = tf.keras.Sequential(
    [tf.keras.Input((LONG, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(3)]
)
model.compile("adam", "mae")


class Counted(tf.keras.callbacks.Callback):
    batches = last = 0

    def on_train_batch_end(self, batch, logs=None):
        self.last = batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.batches += self.last


counted = Counted()
model.fit(train, epochs=2, verbose=0, callbacks=[counted])
print("updates", counted.batches)
