"""Threads read a counter, add to it and write it back in three lines."""

import threading

import tensorflow as tf

examples = tf.Variable(0)


def train_on(part):
    """Count what was trained on, after a step."""
    total = examples.read_value()
    total += tf.shape(part)[0]
    examples.assign(total)  # unlocked-threads


for each in tf.random.normal((4, 8, 2)):
    threading.Thread(target=train_on, args=(each,)).start()
