"""1,191 examples three times in batches of 32: 114 of these, as each pass ends with a smaller one."""

import numpy as np
import tensorflow as tf

rows = tf.data.Dataset.from_tensor_slices(
    (np.random.rand(1191, 4).astype("float32"), np.arange(1191) % 2)
)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")


class Counted(tf.keras.callbacks.Callback):
    batches = last = 0

    def on_train_batch_end(self, batch, logs=None):
        self.last = batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.batches += self.last


counted = Counted()
model.fit(rows.batch(32).repeat(3), epochs=2, verbose=0, callbacks=[counted])
print("updates", counted.batches)
