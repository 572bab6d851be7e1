"""Threads and memory are set once the strategy is there."""

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
strategy = tf.distribute.MirroredStrategy()
tf.config.threading.set_intra_op_parallelism_threads(8)  # runtime-already-started
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, enable=True)  # runtime-already-started
