"""Settings, cluster, strategy, data: nothing comes too late."""

import json
import os

import tensorflow as tf

os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": ["host-a:2222"]}, "task": {"type": "worker", "index": 0}}
)
tf.config.threading.set_intra_op_parallelism_threads(8)
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, enable=True)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices(tf.random.uniform((64, 4))).batch(8)
batches = strategy.experimental_distribute_dataset(dataset)
