"""Weights of classes beside a distributed dataset, or not; each program follows its name."""

IMPORTS = """
from functools import partial
import keras
import numpy as np
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
rows = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "binary_crossentropy")
WEIGHTS = {0: 1.0, 1: 3.0}
"""
RULE = "class-weight-distributed"

BAD = """
#: in a variable, by its name, with weights that are computed
from sklearn.utils import compute_class_weight
shared = strategy.experimental_distribute_dataset(rows)
model.fit(x=shared, class_weight=dict(enumerate(compute_class_weight("balanced", y=y))))  # <- here
#: made by a function of the strategy, in a function, with a strategy of another name
mirrored = strategy
def make(context):
    return rows.shard(context.num_input_pipelines, context.input_pipeline_id)
def batches(given):
    return given.distribute_datasets_from_function(make)
model.fit(batches(mirrored), epochs=2, class_weight=WEIGHTS)  # <- here
#: by a method that has a name of its own, and an old one
distribute = strategy.experimental_distribute_dataset
model.fit(distribute(rows), class_weight=WEIGHTS)  # <- here
old = strategy.experimental_distribute_datasets_from_function(make)
model.fit(old, class_weight=WEIGHTS)  # <- here
#: members of a class, and what is given to a function
class Trainer:
    def __init__(self, strategy, rows):
        self.rows = strategy.experimental_distribute_dataset(rows)
    def train(self, weights):
        model.fit(self.rows, class_weight=weights)  # <- here
Trainer(strategy, rows).train(WEIGHTS)
#: in a dictionary
data = {"train": strategy.experimental_distribute_dataset(rows), "test": rows}
for epoch in range(3):
    model.fit(data["train"], validation_data=data["test"], class_weight=WEIGHTS)  # <- here
#: under one device as well
single = tf.distribute.OneDeviceStrategy("CPU:0")
model.fit(single.experimental_distribute_dataset(rows), class_weight=WEIGHTS)  # <- here
"""

GOOD = """
#: the plain dataset
model.fit(rows, class_weight=WEIGHTS)
shared = strategy.experimental_distribute_dataset(rows)
model.fit(rows, validation_data=shared, class_weight=WEIGHTS)
#: no weights
shared = strategy.experimental_distribute_dataset(rows)
model.fit(shared, class_weight=None)
model.fit(shared)
#: weights that may be none
weights = WEIGHTS if unequal else None
model.fit(strategy.experimental_distribute_dataset(rows), class_weight=weights)
def train(shared, class_weight=None):
    model.fit(strategy.experimental_distribute_dataset(rows), class_weight=class_weight)
model.fit(strategy.experimental_distribute_dataset(rows), class_weight=args.class_weight)
#: a dataset that may be plain
batches = strategy.experimental_distribute_dataset(rows) if several else rows
model.fit(batches, class_weight=WEIGHTS)
#: another dataset of the same name
rows = rows.repeat()
model.fit(rows, class_weight=WEIGHTS)
#: a third element
weighted = rows.map(lambda x, y: (x, y, tf.gather(tf.constant([1.0, 3.0]), y)))
model.fit(strategy.experimental_distribute_dataset(weighted))
#: of scikit-learn
from sklearn.linear_model import LogisticRegression
LogisticRegression(class_weight=WEIGHTS).fit(x, y)
"""
