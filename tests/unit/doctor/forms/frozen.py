"""Random operations before a cache, or none; each program follows its name."""

IMPORTS = """
from functools import partial
import random
import keras
import numpy as np
import tensorflow as tf
dataset = tf.data.Dataset.from_tensor_slices((images, labels))
generator = tf.random.Generator.from_non_deterministic_state()
flip = keras.layers.RandomFlip("horizontal")
noise = keras.Sequential()
noise.add(keras.layers.GaussianNoise(0.1))
def crop(image, label, size=8):
    return tf.image.random_crop(image, [size, size, 3]), label
def resize(image, label):
    return tf.image.resize(image, [32, 32]), label
"""
RULE = "random-before-cache"

BAD = """
#: in a chain of lines
train = (
    dataset.map(crop, num_parallel_calls=tf.data.AUTOTUNE)
    .map(resize)
    .cache()  # <- here
    .shuffle(400)
)
#: every way to name the function
dataset.map(partial(crop, size=16)).batch(2).cache("/tmp/kept")  # <- here
dataset.map(lambda x, y: crop(x, y)).cache()  # <- here
dataset.map(tf.image.random_flip_left_right).cache()  # <- here
dataset.map(tf.function(crop)).cache()  # <- here
class Augment:
    def __init__(self, size):
        self.size = size
    def apply(self, image, label):
        return crop(image, label, self.size)
dataset.map(Augment(8).apply).cache()  # <- here
data = dataset
for change in [resize, crop]:
    data = data.map(change)
data.cache()  # <- here
#: every way to draw
def jitter(image):
    return image + tf.random.normal(tf.shape(image))
def turned(image):
    return tf.image.stateless_random_flip_left_right(image, seed=generator.make_seeds(2)[0])
def seeded(image):
    seed = tf.random.uniform([2], maxval=100, dtype=tf.int32)
    return tf.image.stateless_random_flip_left_right(image, seed=seed)
def scaled(image):
    return image * np.random.uniform(0.8, 1.2)
def mirrored(image):
    return image[::-1] if random.random() < 0.5 else image
dataset.map(jitter).cache()  # <- here
dataset.map(turned).cache()  # <- here
dataset.map(seeded).cache()  # <- here
dataset.map(lambda x: tf.numpy_function(scaled, [x], tf.float32)).cache()  # <- here
dataset.map(lambda x: tf.py_function(func=mirrored, inp=[x], Tout=tf.float32)).cache()  # <- here
#: layers of Keras
class Twice(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.flip = keras.layers.RandomFlip()
    def call(self, image):
        return self.flip(image)
augment = keras.Sequential([keras.layers.Rescaling(1 / 255), keras.layers.RandomZoom(0.1)])
twice = Twice()
dataset.map(lambda x, y: (augment(x, training=True), y)).cache()  # <- here
dataset.map(lambda x, y: (augment(x), y)).cache()  # <- here
dataset.map(flip).cache()  # <- here
dataset.map(lambda x, y: (flip(x), y)).cache()  # <- here
dataset.map(lambda x, y: (noise(x, training=True), y)).cache()  # <- here
dataset.map(lambda x, y: (twice(x), y)).cache()  # <- here
#: in steps, of which one has a condition
def prepare(data, training):
    if training:
        data = data.map(crop)
    data = data.batch(32)
    return data.cache()  # <- here
train, test = prepare(dataset, True), prepare(dataset, False)
if small:
    augmented = dataset.map(crop)
    augmented = augmented.cache()  # <- here
#: through functions of the module
def augmented(data):
    data = data.map(crop)
    return data
def split():
    return augmented(dataset.take(10)), dataset.skip(10)
def kept(data):
    return data.cache()  # <- here
augmented(dataset).cache()  # <- here
dataset.apply(augmented).cache()  # <- here
train, test = split()
train = train.cache()  # <- here
test = test.cache()
kept(augmented(dataset))
tf.data.Dataset.zip((dataset, augmented(dataset))).cache()  # <- here
#: of rows that are named by their numbers
rows = tf.data.Dataset.range(10)
rows.map(lambda i: tf.image.random_flip_up_down(images[i])).cache()  # <- here
rows.map(lambda i: images[i]).map(lambda x: x + tf.random.normal((8,))).cache()  # <- here
"""

GOOD = """
#: cached first
dataset.cache().map(crop).batch(32)
data = dataset.cache()
data = data.map(crop)
#: nothing random
dataset.map(resize).cache().map(crop)
dataset.map(lambda x, y: (flip(x, training=False), y)).cache()
dataset.map(lambda x, y: (tf.image.stateless_random_crop(x, [8, 8, 3], seed=(1, 2)), y)).cache()
dataset.map(lambda x, y: (keras.layers.Rescaling(1 / 255)(x), y)).cache()
dataset.shuffle(100).cache()
#: drawn once, while the function is traced, or before
shift = tf.random.uniform(())
dataset.map(lambda x, y: (x + shift, y)).cache()
dataset.map(lambda x, y: (x * np.random.uniform(), y)).cache()
#: what is drawn is the data, or which of it
tf.data.Dataset.range(64).map(lambda _: tf.random.normal((8,))).cache()
tf.data.Dataset.range(64).map(lambda i: (tf.random.normal((8,)), i % 2)).batch(8).cache()
dataset.map(lambda x, y: tf.random.normal((8,))).cache()
dataset.filter(lambda x, y: tf.random.uniform(()) < 0.1).cache()
#: for validation, by its name
val_ds = dataset.map(crop).cache()
#: another branch
if training:
    data = dataset.map(crop)
else:
    data = dataset.cache()
other = dataset
if training:
    other = other.map(crop)
if not training:
    other = other.cache()
#: a function that augments where it is told to
def prepare(data, augment=False):
    if augment:
        data = data.map(crop)
    return data.batch(32)
held = prepare(dataset).cache()
train = prepare(dataset.cache(), augment=True)
#: a function for two datasets
def batched(data):
    return data.batch(32)
train = batched(dataset.map(crop))
held = batched(dataset).cache()
#: other caches
model.cache()
rows = spark.textFile("rows").map(lambda row: row.split()).cache()
"""
