"""The whole dataset for each device, or a part of it; each program follows its name."""

IMPORTS = """
import itertools
import threading
import tensorflow as tf
dataset = tf.data.Dataset.range(100).batch(10)
devices = ["/gpu:0", "/gpu:1"]
"""
READ = "for batch in part:\n    tf.reduce_sum(batch)"
ZIPPED = "for device, part in zip(devices, parts):\n    with tf.device(device):\n        READ"
NUMBERED = """
for number, part in enumerate(parts):
    with tf.device(f"/gpu:{number}"):
        READ
"""
RULE = "same-dataset-on-devices"

BAD = """
#: appended in a loop
parts = []
for _ in devices:
    parts.append(dataset)  # <- here
for device, part in zip(devices, parts):
    with tf.device(device):
        for step, batch in enumerate(part):
            tf.reduce_sum(batch)
#: a dictionary
parts = {device: dataset for device in devices}  # <- here
for device, part in parts.items():
    with tf.device(device):
        READ
#: a list that names it twice
parts = [dataset, dataset]  # <- here
for number, part in enumerate(parts):
    with tf.device("/gpu:%d" % number):
        READ
#: a dictionary by its keys
parts = dict.fromkeys(devices, dataset)  # <- here
for device in devices:
    with tf.device(device):
        for batch in parts[device]:
            tf.reduce_sum(batch)
#: an iterator of all for each
parts = [iter(dataset) for _ in range(2)]  # <- here
for step in range(10):
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            tf.reduce_sum(next(parts[number]))
#: made by a function
def split(whole, count):
    return [whole] * count  # <- here
parts = split(dataset, 2)
NUMBERED
#: members of a class
class Trainer:
    def __init__(self, dataset, devices):
        self.devices = devices
        self.parts = [dataset for _ in devices]  # <- here
    def train(self):
        for device, part in zip(self.devices, self.parts):
            with tf.device(device):
                READ
Trainer(dataset, devices).train()
#: repeated by itertools
for device, part in zip(devices, itertools.repeat(dataset)):  # <- here
    with tf.device(device):
        READ
#: prefetched for each
parts = [dataset.prefetch(2) for _ in devices]  # <- here
ZIPPED
#: a function that trains on a device, in threads
def train(device, part):
    with tf.device(device):
        READ
parts = [dataset] * 2  # <- here
for device, part in zip(devices, parts):
    threading.Thread(target=train, args=(device, part)).start()
#: a function that is mapped
def train(device, part):
    with tf.device(device):
        return [tf.reduce_sum(batch) for batch in part]
losses = list(map(train, devices, [dataset] * 2))  # <- here
#: a tuple, through several names
whole = dataset.shuffle(100).repeat()
each = whole
parts = tuple(each for _ in devices)  # <- here
shares = parts
for number in range(len(devices)):
    share = shares[number]
    with tf.device(devices[number]):
        for batch in share:
            tf.reduce_sum(batch)
#: an iterator of each
parts = [dataset] * 2  # <- here
iterators = [iter(part) for part in parts]
for step in range(10):
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            tf.reduce_sum(next(iterators[number]))
#: made again for each
parts = [tf.data.Dataset.range(100).batch(10) for _ in devices]  # <- here
ZIPPED
"""

GOOD = """
#: one iterator for all
batches = iter(dataset)
parts = [batches] * 2
for number, part in enumerate(parts):
    with tf.device(f"/gpu:{number}"):
        tf.reduce_sum(next(part))
#: different datasets
parts = [dataset.take(5), dataset.skip(5)]
NUMBERED
#: devices are compared
for device in ("/cpu:0", "/gpu:0"):
    with tf.device(device):
        for batch in dataset:
            tf.reduce_sum(batch)
#: one device, several epochs
for part in [dataset] * 3:
    with tf.device("/gpu:0"):
        READ
#: sharded when it is read
for number, part in enumerate([dataset] * 2):
    with tf.device(f"/gpu:{number}"):
        for batch in part.shard(2, number):
            tf.reduce_sum(batch)
#: sharded later
parts = [dataset] * 2
for number in range(2):
    parts[number] = parts[number].shard(2, number)
NUMBERED
#: each device takes its own batches
for number, part in enumerate([dataset] * 2):
    with tf.device(f"/gpu:{number}"):
        for step, batch in enumerate(part):
            if step % 2 == number:
                tf.reduce_sum(batch)
#: a model of its own on each device
for device, model, part in zip(devices, models, [dataset] * 2):
    with tf.device(device):
        for batch in part:
            model(batch)
#: shuffled for each
parts = [dataset.shuffle(100) for _ in devices]
ZIPPED
#: a list that may be another one
parts = [dataset] * 2
if several:
    parts = shards_of(dataset)
NUMBERED
#: a list of one
parts = [dataset] * 1
NUMBERED
"""
