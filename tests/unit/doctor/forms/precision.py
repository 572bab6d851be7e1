r"""Right code that looks like wrong code, and wrong code in other words.

Each program follows its name. Below it stands what `@@` is replaced by, and the rules that then
find something; `|` is a new line. STEP is a training step, BATCHES a dataset that is distributed.
"""

HEAD = """
import keras
import tensorflow as tf
from tensorflow import keras as K
from tensorflow.distribute import MirroredStrategy
strategy = MirroredStrategy()
"""
STEP = """
def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
    return loss
@tf.function
def train_step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)
"""
BATCHES = "strategy.experimental_distribute_dataset(make_dataset())"

PROGRAMS = r"""
#: a function that is compiled elsewhere may loop
def epoch(batches):
    for batch in batches:
        strategy.run(replica_step, args=(batch,))
@tf.function
def train(batches):
    epoch(batches)
train(batches)
#= ->
#: a wrapped function is compiled, and its plain form may be
def step(batch):
    return strategy.run(replica_step, args=(batch,))
compiled = tf.function(step, jit_compile=False)
for batch in batches:
    @@(batch)
#= compiled ->
#= step ->
#: a compiled replica function is compiled with the call; what is imported may be
@@
def replica_step(batch):
    return model(batch)
for batch in batches:
    strategy.run(replica_step, args=(batch,))
#= @tf.function ->
#= x = 1 -> run-outside-function
#: an imported replica function may be compiled
for batch in batches:
    strategy.run(imported_step, args=(batch,))
#= ->
#: a function that makes the step is followed
def make_step():
    @@
    def step(batch):
        return model(batch)
    return step
step = make_step()
for batch in batches:
    strategy.run(step, args=(batch,))
#= @tf.function ->
#= count = 0 -> run-outside-function
#= if short: return other_step ->
#: a single run is no loop
@@
#= strategy.run(create, args=(batch,)) ->
#= for _ in range(2):|    strategy.run(lambda: model(batch)) ->
#= for batch in data.take(1):|    strategy.run(lambda: model(batch)) ->
#= for n, batch in enumerate(data.take(1)):|    strategy.run(lambda: model(batch)) ->
#= for each in (one, two):|    strategy.run(lambda: model(batch)) ->
#= for _ in data:|    strategy.run(lambda: model(batch))|    break ->
#: a function that nobody calls is judged by what it does
def train(batches):
    for batch in batches:
        strategy.run(lambda: model(batch))
    @@
#= return None ->
#= print('an epoch is over') -> run-outside-function
#: methods are followed through self
class Trainer:
    def __init__(self):
        self.strategy, self.name = tf.distribute.MirroredStrategy(), "mine"
        @@
    def step(self, batch):
        return self.strategy.run(self.replica_step, args=(batch,))
    def replica_step(self, batch):
        return model(batch)
    def train(self, batches):
        for batch in batches:
            self.step(batch)
        print("done")
#= self.epochs = 1 -> run-outside-function
#= self.step = tf.function(self.step) ->
#: only a strategy has a run that counts
runner = make_runner()
for each in jobs:
    runner.run(each)
#= ->
#: what is sometimes distributed is not certainly undistributed
STEP
dataset = tf.data.Dataset.range(8).batch(4)
dataset = strategy.experimental_distribute_dataset(dataset)
for batch in dataset:
    train_step(batch)
#= ->
#: every way to read a loss is known
STEP
for step, batch in enumerate(BATCHES):
    loss = train_step(batch)
    @@
#= print(loss) -> sync-every-step
#= print('%d %.3f' % (step, loss)) -> sync-every-step
#= total += loss.numpy().item() -> sync-every-step
#= bar.set_postfix(loss=float(loss['total'])) -> sync-every-step
#= if step % 100 == 0: print(loss) ->
#= tf.print(loss) ->
#= total += loss ->
#= history.append(loss) ->
#= print(step) ->
#: a loss may be read after many steps
STEP
@tf.function
def train_steps(batches):
    for _ in tf.range(100):
        loss = train_step(next(batches))
    return loss
while True:
    print(float(train_steps(batches)))
#= ->
#: a loss may be read after an epoch
STEP
for epoch in range(9):
    print(train_step(everything))
#= ->
#: an evaluation may read its results, because predictions have to reach the host
@tf.function
def predict(batch):
    return strategy.run(model, args=(batch,))
for batch in BATCHES:
    results.append(strategy.gather(predict(batch), axis=0).numpy())
#= ->
#: device names are read as TensorFlow does
with tf.device(@@):
    pass
#= 'GPU:0' ->
#= '' ->
#= '/GPU-0' -> misspelt-device
#: a guarded old call is meant
try:
    run = strategy.experimental_run_v2
    run(replica_step)
    strategy.experimental_run_v2(replica_step)
except @@:
    strategy.run(replica_step)
#= AttributeError ->
#= KeyError -> removed-call
#: another object with an old name is left alone
pool.unwrap(value)
pool.make_dataset_iterator(data)
#= ->
#: only a mean over examples counts, where nobody scales it
def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = @@
    optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
#= tf.reduce_mean(keras.losses.mse(labels, model(images))) -> mean-over-replica
#= tf.reduce_mean(keras.losses.mse(labels, model(images))) / strategy.num_replicas_in_sync ->
#= tf.reduce_mean(keras.losses.mse(labels, model(images))) / REPLICAS ->
#= tf.reduce_mean(keras.losses.MeanSquaredError(reduction='none')(labels, x)) -> mean-over-replica
#= tf.reduce_mean(K.losses.MSE(a, b)) -> mean-over-replica
#= tf.reduce_mean(K.losses.Huber(reduction=K.losses.Reduction.NONE)(a, b)) -> mean-over-replica
#= penalty + tf.reduce_mean((labels - model(images)) ** 2) -> mean-over-replica
#= tf.reduce_mean(keras.losses.MeanSquaredError()(labels, images)) ->
#= tf.reduce_mean(loss_of_somebody_else(labels, images)) ->
#= tf.reduce_mean(tf.square(labels), axis=1) ->
#= 0.5 * tf.reduce_mean(tf.square(labels)) ->
#= tf.nn.compute_average_loss(keras.losses.mse(labels, images)) ->
#: a mean in a step of Keras counts under a strategy
class Mine(keras.Model):
    def train_step(self, data):
        images, labels = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(labels - self(images)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}
@@
#= pass ->
#= with strategy.scope():|    model = Mine() -> mean-over-replica
#: a model may come from a function that enters the scope
def make_model():
    @@ keras.Sequential([keras.layers.Dense(1)])
model = make_model()
with strategy.scope():
    model.compile("adam", "mse")
#= with strategy.scope(): return ->
#= if True: return -> created-outside-scope
#: an optimizer that keeps nothing may come from outside
optimizer = @@
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer=optimizer)
#= keras.optimizers.SGD(0.1) ->
#= keras.optimizers.SGD(0.1, momentum=0.9) -> created-outside-scope
#= keras.optimizers.Adam() -> created-outside-scope
#= 'sgd' ->
#= 'Adam' ->
#= make_optimizer() ->
#: a model may be compiled outside with an optimizer that keeps nothing
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
model.compile(@@, "mse")
#= keras.optimizers.SGD(0.1) ->
#= keras.optimizers.Adam() -> created-outside-scope
#= 'sgd' ->
#= 'Adam' -> created-outside-scope
#: metrics and variables may be from outside
seen = tf.Variable(0.0)
accuracy = keras.metrics.Mean()
def replica_step():
    seen.assign_add(1.0)
    accuracy.update_state(1.0)
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=[accuracy])
tf.function(lambda: strategy.run(replica_step))()
#= ->
#: a scope that may be entered otherwise is unclear
scope = strategy.scope() if several else contextlib.nullcontext()
model = keras.Sequential([keras.layers.Dense(1)])
with strategy.scope():
    model.compile("adam", "mse")
#= ->
#: a lock is seen by its kind or by its name
import threading
counter = tf.Variable(0)
guard = threading.RLock()
def work(lock):
    with @@:
        counter.assign(counter + 1)
for _ in range(4):
    threading.Thread(target=work, args=(guard,)).start()
#= guard ->
#= lock ->
#= tf.device('CPU:0') -> unlocked-threads
#: a single thread is alone
import threading
counter = tf.Variable(0)
def work():
    counter.assign(counter + 1)
start = threading.Thread
@@
#= start(target=work).start() ->
#= start(target=work).start()|start(target=work).start() -> unlocked-threads
#= if fast:|    start(target=work).start()|else:|    start(target=work).start() ->
#: who knows of versions is left alone
@@
#= s = tf.distribute.experimental.TPUStrategy() -> deprecated-call
#= try:|    s = f()|except AttributeError:|    s = tf.distribute.experimental.TPUStrategy() ->
#= s = new() if current_version >= 2 else tf.distribute.experimental.TPUStrategy() ->
#= if cur_tf_ver == '2.0.0':|    s = tf.distribute.experimental.TPUStrategy() ->
#= if not tf2.enabled():|    s = tf.distribute.experimental.TPUStrategy() ->
#= def f():|    err_if_tf2()|    return tf.distribute.experimental.TPUStrategy() ->
#= def f():|    if IS_TF2:|        return 1|    return tf.distribute.experimental.TPUStrategy() ->
#: what Keras 3 takes is left alone: other objects, own methods, paths whose end is not known
@@
#= stepper.reset_states() ->
#= lstm = keras.layers.LSTM(2, stateful=True)|lstm.reset_states() ->
#= class Rate(keras.metrics.Mean):|    def reset_states(self): ...|Rate().reset_states() ->
#= scheduler.lr ->
#= path = make_path()|keras.callbacks.ModelCheckpoint(path) ->
#= keras.callbacks.ModelCheckpoint('weights', save_weights_only=choice) ->
#= model = keras.Sequential()|model.save(f'{folder}/{name}') ->
#= pool.fit(x, workers=2) ->
#: what another decorator returns may be fetched already
STEP
@@
def step(batch):
    return replica_step(batch)
for batch in BATCHES:
    print(step(batch))
#= @library.function ->
#= @tf.function -> sync-every-step
"""
