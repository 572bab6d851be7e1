"""Lists of one dataset, each in another way, for devices that other lines choose or that none does."""

import tensorflow as tf

GPUS = 4
rows = tf.data.Dataset.from_tensor_slices((tf.ones((64, 4)), tf.ones((64, 1)))).batch(8)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


def split(whole, count):
    parts = []
    for _ in range(count):
        parts.append(whole)  # same-dataset-on-devices
    return parts


def train(part):
    for features, labels in part:
        model.train_on_batch(features, labels)


def compute(device, features):
    with tf.device(device):
        return tf.reduce_sum(features)


for part in split(rows, GPUS):
    train(part)

copies = (rows,) * GPUS  # same-dataset-on-devices
for number, copy in enumerate(copies):
    for features, _ in copy:
        compute(f"/gpu:{number}", features)

for worker, share in enumerate([rows] * 2):  # same-dataset-on-devices
    print("worker", worker)
    model.fit(share)

for epoch, again in enumerate([rows] * 3):
    print("epoch", epoch)
    model.fit(again)

whole = [rows] * GPUS
shards = [each.shard(GPUS, number) for number, each in enumerate(whole)]
for shard in shards:
    train(shard)
