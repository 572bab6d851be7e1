"""A list that looks like parts names one dataset for each device."""

import tensorflow as tf

devices = ["/gpu:0", "/gpu:1"]
dataset = tf.data.Dataset.range(64).batch(8)
parts = [dataset for _ in devices]  # same-dataset-on-devices

for device, part in zip(devices, parts, strict=True):
    with tf.device(device):
        totals = [tf.reduce_sum(batch) for batch in part]
