"""Loops that train beside the strategy, and loops that do not; each program follows its name."""

IMPORTS = """
import keras
import tensorflow as tf
data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(16)
"""
MADE = """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.1)
"""
STEP = """
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
NETWORK = """
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
"""
UPDATE = """
with tf.GradientTape() as tape:
    loss = loss_of(model(x), y)
optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
"""
LOOP = "for x, y in data:  # <- here\n    train_step(x, y)"
TRAIN = "STEP\nLOOP"
RULE = "strategy-never-run"

BAD = """
#: a strategy that a function makes
def make_strategy():
    return tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
def main():
    strategy = make_strategy()
    print("replicas:", strategy.num_replicas_in_sync)
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam()
    for x, y in data.repeat():  # <- here
        UPDATE
main()
#: members of a class
class Trainer:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy()
        with self.strategy.scope():
            self.model = keras.Sequential([keras.layers.Dense(1)])
            self.optimizer = keras.optimizers.Adam()
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(self.model(x), y)
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    def train(self):
        for x, y in data:  # <- here
            self.step(x, y)
Trainer().train()
#: a strategy that is handed to the function that makes the model
def build(strategy):
    with strategy.scope():
        made = keras.Sequential([keras.layers.Dense(1)])
        return made, keras.optimizers.Adam()
strategy = tf.distribute.MultiWorkerMirroredStrategy()
model, optimizer = build(strategy)
TRAIN
#: a scope with a name
strategy = tf.distribute.MirroredStrategy()
scope = strategy.scope()
with scope:
    NETWORK
TRAIN
#: variables, and updates by hand
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.zeros((4, 1)))
for x, y in data:  # <- here
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights - y) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
#: a loop of the graph
MADE
STEP
@tf.function
def train(batches):
    for _ in tf.range(100):  # <- here
        x, y = next(batches)
        train_step(x, y)
train(iter(data.repeat()))
#: minimize
MADE
while True:  # <- here
    x, y = next(batches)
    optimizer.minimize(lambda: loss_of(model(x), y), model.trainable_variables)
#: a strategy and a model from one function
def prepare():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        return strategy, keras.Sequential([keras.layers.Dense(1)]), keras.optimizers.SGD(0.1)
strategy, model, optimizer = prepare()
TRAIN
#: one of two strategies
strategy = tf.distribute.MirroredStrategy() if gpus else tf.distribute.OneDeviceStrategy("/cpu:0")
with strategy.scope():
    NETWORK
STEP
for epoch in range(9):
    LOOP
"""

GOOD = """
#: fitted by Keras
MADE
STEP
model.compile(optimizer, "mse")
model.fit(data)
for x, y in data.take(1):
    train_step(x, y)
#: handed to a library
MADE
STEP
trainer = library.Trainer(strategy)
LOOP
#: handed to a function that runs
MADE
def train(how, x, y):
    how.run(train_step, args=(x, y))
STEP
for x, y in data:
    train(strategy, x, y)
#: a function that another file may run
MADE
STEP
def train(batches):
    for x, y in batches:
        train_step(x, y)
#: another model is trained
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    teacher = keras.Sequential([keras.layers.Dense(1)])
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
TRAIN
#: one device
strategy = tf.distribute.OneDeviceStrategy("/gpu:0")
with strategy.scope():
    NETWORK
TRAIN
#: gradients that are only looked at
MADE
for x, y in data:
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    gradients = tape.gradient(loss, model.weights)
    frame.apply(tf.linalg.global_norm(gradients))
#: an image is trained, not the model
MADE
image = tf.Variable(tf.zeros((1, 4)))
for _ in range(100):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(image))
    image.assign_sub(tape.gradient(loss, image))
#: one of several that a function returns, and that are kept together
def prepare():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        return strategy, keras.Sequential([keras.layers.Dense(1)])
prepared = prepare()
model, optimizer = prepared[1], keras.optimizers.SGD(0.1)
TRAIN
#: in a dictionary
MADE
STEP
context = {"strategy": strategy}
LOOP
#: an unknown strategy
from mine import strategy
with strategy.scope():
    NETWORK
TRAIN
#: the gradients are summed by hand
MADE
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(model(x), y)
    gradients = tape.gradient(loss, model.weights)
    gradients = tf.distribute.get_replica_context().all_reduce("sum", gradients)
    optimizer.apply_gradients(zip(gradients, model.weights))
LOOP
"""
