"""Class weights beside a distributed dataset of another name, and beside a plain one."""

import numpy as np
import tensorflow as tf

mirrored = tf.distribute.MirroredStrategy()
plain = tf.data.Dataset.from_tensor_slices((np.random.rand(64, 4), np.arange(64) % 2)).batch(16)
WEIGHTS = {0: 1.0, 1: 3.0}


def shared(context):
    return plain.shard(context.num_input_pipelines, context.input_pipeline_id)


def distributed(over):
    return over.distribute_datasets_from_function(shared)


with mirrored.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
train = distributed(mirrored)
model.fit(plain, class_weight=WEIGHTS)
model.fit(  # class-weight-distributed
    train,
    steps_per_epoch=4,
    class_weight=WEIGHTS,
)
