"""A script that notes what its second fit does: every hook with what it is given, and what stays."""

import json
import os

import keras
import numpy as np
import tensorflow as tf

notes, traced = [], []


def note(hook, index, logs):
    logs = logs or {}
    kinds = sorted({type(each).__name__ for each in logs.values()})
    notes.append([hook, index, sorted(logs), kinds])


class Notes(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        note("train begin", 0, logs)

    def on_epoch_begin(self, epoch, logs=None):
        note("epoch begin", epoch, logs)

    def on_train_batch_begin(self, batch, logs=None):
        note("batch begin", batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        note("batch end", batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        note("epoch end", epoch, logs)
        self.model.stop_training = epoch == 2

    def on_train_end(self, logs=None):
        note("train end", 0, logs)


class Counted(keras.Sequential):
    def train_step(self, data):
        traced.append(len(data))
        return super().train_step(data)


keras.utils.set_random_seed(7)
x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
y = np.arange(64) % 3
model = Counted([keras.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(3)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
tf.config.run_functions_eagerly(True)
model.fit(x[:16], y[:16], batch_size=8, verbose=0, shuffle=False)
before = int(model.optimizer.iterations.numpy())
traced.clear()
asked = {"class_weight": {0: 1.0, 1: 2.0, 2: 4.0}, "validation_data": (x, y), "shuffle": False}
history = model.fit(x, y, batch_size=8, epochs=9, initial_epoch=1, callbacks=[Notes()], **asked)
done = {
    "notes": notes,
    "traced": len(traced),
    "updates": int(model.optimizer.iterations.numpy()) - before,
    "epochs": history.epoch,
    "history": history.history,
    "weights": [each.tolist() for each in model.get_weights()],
    "after": [model.steps_per_execution, model.jit_compile, tf.config.functions_run_eagerly()],
}
with open(os.environ["DONE"], "w") as file:
    json.dump(done, file)
