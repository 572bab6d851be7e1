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
#: a method that trains on a device, in threads
class Trainer:
    def train(self, device, part):
        with tf.device(device):
            for batch in part:
                self.total = tf.reduce_sum(batch)
    def start(self):
        for device, part in zip(devices, [dataset] * 2):  # <- here
            threading.Thread(target=self.train, args=(device, part)).start()
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
#: no device is named: a function that returns copies, counted by devices
DEVICES = 3
def copies_of(whole, count):
    copies = [whole for _ in range(count)]  # <- here
    return copies
for number, part in enumerate(copies_of(dataset, DEVICES)):
    for batch in part:
        print(number, tf.reduce_sum(batch))
#: no device is named, and a model is fitted
shards = [dataset] * 4  # <- here
for shard in shards:
    model.fit(shard)
#: no device is named, and GPUs or parts are counted or meant
def split(whole):
    return [whole] * 4  # <- here
for copy in split(dataset):
    model.fit(copy)
copies = [dataset] * num_gpus  # <- here
for copy in copies:
    model.fit(copy)
others = []
for _ in range(num_gpus):
    others.append(dataset)  # <- here
for other in others:
    model.fit(other)
#: no device is named, and parts are appended
parts = []
for _ in range(2):
    parts.append(dataset)  # <- here
for each in parts:
    for batch in each:
        model.train_on_batch(batch)
#: no device is named, and batches are trained on
per_gpu = []
for gpu in range(2):
    per_gpu.append(dataset)  # <- here
for gpu in range(2):
    for batch in per_gpu[gpu]:
        print(f"gpu {gpu}: {model.train_on_batch(batch)}")
#: the device around each batch
copies = [dataset] * 2  # <- here
for number, copy in enumerate(copies):
    for batch in copy:
        with tf.device(f"/gpu:{number}"):
            tf.reduce_sum(batch)
#: the device in a function that is called
def work(number, batch):
    with tf.device(f"/gpu:{number}"):
        tf.reduce_sum(batch)
copies = [dataset for _ in range(2)]  # <- here
for number, copy in enumerate(copies):
    for batch in copy:
        work(number, batch)
#: the device around the call of a function that loops
def train(part):
    READ
copies = [dataset] * 2  # <- here
for device, copy in zip(devices, copies):
    with tf.device(device):
        train(copy)
#: the name of the device is kept, and a few batches are taken
copies = (dataset, dataset)  # <- here
for number in range(2):
    name = devices[number]
    with tf.device(name):
        for batch in copies[number].take(5):
            tf.reduce_sum(batch)
#: beside a loop over parts that has the same names
parts = [dataset] * 2  # <- here
NUMBERED
shares = [dataset.shard(2, number) for number in range(2)]
for number, part in enumerate(shares):
    with tf.device(f"/gpu:{number}"):
        READ
#: added in a loop
copies = []
for device in devices:
    copies += [dataset]  # <- here
for device, copy in zip(devices, copies):
    with tf.device(device):
        for batch in copy:
            tf.reduce_sum(batch)
"""

GOOD = """
#: several epochs, without a device
for epoch, part in enumerate([dataset] * 3):
    READ
repeated = [dataset for _ in range(EPOCHS)]
for part in repeated:
    READ
parts = [dataset] * 3
for epoch, part in enumerate(parts):
    READ
#: several runs of one program
runs = [dataset] * 3
for data in runs:
    for batch in data:
        tf.reduce_sum(batch)
#: sharded after the list is made
copies = [dataset] * 2
parts = [copy.shard(2, number) for number, copy in enumerate(copies)]
NUMBERED
#: sharded where it is read, without a device
workers = [dataset] * 2
for number, part in enumerate(workers):
    for batch in part.shard(2, number):
        tf.reduce_sum(batch)
#: a model of its own for each worker
workers = [dataset] * 2
for number, part in enumerate(workers):
    model = models[number]
    for batch in part:
        model(batch)
#: mixed into one
parts = [dataset] * 2
for batch in tf.data.Dataset.sample_from_datasets(parts):
    tf.reduce_sum(batch)
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
parts = [dataset] * 3
for part in parts:
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
