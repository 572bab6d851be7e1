"""Right code that looks like wrong code, and wrong code in other words."""

from __future__ import annotations

import textwrap

import pytest

from autotune.doctor.check import check_text
from autotune.doctor.rules import rules
from autotune.doctor.text import Text

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
    return strategy.run(replica_step, args=(batch,))
"""
BATCHES = "strategy.experimental_distribute_dataset(make_dataset())"


def found(code: str, *, head: str = HEAD) -> list[str]:
    text = Text(file="train.py", content=head + textwrap.dedent(code))
    return [each.rule for each in check_text(text, rules()).findings]


def test_a_function_that_is_compiled_elsewhere_may_loop() -> None:
    """A loop over strategy.run is right in a function that a tf.function calls."""
    code = """
    def epoch(batches):
        for batch in batches:
            strategy.run(replica_step, args=(batch,))

    @tf.function
    def train(batches):
        epoch(batches)

    train(batches)
    """
    assert found(code) == []


def test_a_wrapped_function_is_compiled() -> None:
    """`f = tf.function(g)` compiles as the decorator does."""
    code = """
    def step(batch):
        return strategy.run(replica_step, args=(batch,))

    compiled = tf.function(step, jit_compile=False)
    for batch in batches:
        compiled(batch)
    """
    assert found(code) == []
    assert found(code.replace("compiled(batch)", "step(batch)")) == []


def test_a_compiled_replica_function_is_compiled() -> None:
    """MirroredStrategy takes a tf.function apart and compiles the call of all replicas."""
    code = """
    @tf.function
    def replica_step(batch):
        return model(batch)

    for batch in batches:
        strategy.run(replica_step, args=(batch,))
    """
    assert found(code) == []
    assert found(code.replace("@tf.function", "")) == ["run-outside-function"]
    assert found(code.replace("(replica_step,", "(imported_step,")) == []


def test_a_function_that_makes_the_step_is_followed() -> None:
    """What it returns is compiled, or is not, or may be."""
    code = """
    def make_step():
        {}
        def step(batch):
            return model(batch)
        return step

    step = make_step()
    for batch in batches:
        strategy.run(step, args=(batch,))
    """
    assert found(code.format("@tf.function")) == []
    assert found(code.format("count = 0")) == ["run-outside-function"]
    assert found(code.format("if short: return other_step")) == []


def test_a_single_run_is_no_loop() -> None:
    """Variables may be created by one call from Python."""
    assert found("strategy.run(create, args=(batch,))") == []
    for few in ("for _ in range(2):", "for batch in data.take(1):", "for each in (one, two):"):
        assert found(f"{few}\n    strategy.run(lambda: model(batch))") == [], few
    assert found("for _ in data:\n    strategy.run(lambda: model(batch))\n    break") == []


def test_a_function_that_nobody_calls_is_judged_by_what_it_does() -> None:
    """Printing shows that it runs as Python; without that, another file may compile it."""
    code = """
    def train(batches):
        for batch in batches:
            strategy.run(lambda: model(batch))
        {}
    """
    assert found(code.format("return None")) == []
    assert found(code.format("print('an epoch is over')")) == ["run-outside-function"]


def test_methods_are_followed_through_self() -> None:
    """The strategy of a trainer object, and its methods, are those of its class."""
    code = """
    class Trainer:
        def __init__(self):
            self.strategy, self.name = tf.distribute.MirroredStrategy(), "mine"
            {}

        def step(self, batch):
            return self.strategy.run(self.replica_step, args=(batch,))

        def replica_step(self, batch):
            return model(batch)

        def train(self, batches):
            for batch in batches:
                self.step(batch)
            print("done")
    """
    assert found(code.format("self.epochs = 1")) == ["run-outside-function"]
    assert found(code.format("self.step = tf.function(self.step)")) == []


def test_only_a_strategy_has_a_run_that_counts() -> None:
    """`run` of anything else is none of our business."""
    assert found("runner = make_runner()\nfor each in jobs:\n    runner.run(each)") == []


def test_one_replica_may_have_the_whole_batch() -> None:
    """With OneDeviceStrategy there is nothing to share out."""
    code = f"""{STEP}
for batch in tf.data.Dataset.range(8).batch(4):
    train_step(batch)
"""
    assert found(code) == ["dataset-not-distributed"]
    head = HEAD.replace("MirroredStrategy()", "tf.distribute.OneDeviceStrategy('GPU:0')")
    assert found(code, head=head) == []


def test_a_dataset_that_is_distributed_by_the_same_name_is_unclear() -> None:
    """What is sometimes distributed is not certainly undistributed."""
    code = f"""{STEP}
dataset = tf.data.Dataset.range(8).batch(4)
dataset = strategy.experimental_distribute_dataset(dataset)
for batch in dataset:
    train_step(batch)
"""
    assert found(code) == []


@pytest.mark.parametrize(
    "read",
    [
        "print(loss)",
        "print(f'{loss:.3f}')",
        "print('%d %.3f' % (step, loss))",
        "print('{}'.format(loss))",
        "history.append(float(loss))",
        "history.append(loss.numpy())",
        "total += loss.numpy().item()",
        "bar.set_postfix(loss=float(loss['total']))",
    ],
)
def test_every_way_to_read_a_loss_is_known(read: str) -> None:
    """In each step it is a finding, in some steps it is not."""
    code = f"""{STEP}
for step, batch in enumerate({BATCHES}):
    loss = train_step(batch)
    {{}}
"""
    assert found(code.format(read)) == ["sync-every-step"]
    assert found(code.format(f"if step % 100 == 0: {read}")) == []


@pytest.mark.parametrize(
    "read",
    ["tf.print(loss)", "total += loss", "history.append(loss)", "print(step)", "float(step)"],
)
def test_what_does_not_wait_is_no_finding(read: str) -> None:
    """A tensor may be kept, added up, and printed by the graph."""
    code = f"""{STEP}
for step, batch in enumerate({BATCHES}):
    loss = train_step(batch)
    {read}
"""
    assert found(code) == []


def test_a_loss_may_be_read_after_an_epoch() -> None:
    """A call that does many steps, or a loop over epochs, is not a step."""
    many = f"""{STEP}
@tf.function
def train_steps(batches):
    for _ in tf.range(100):
        loss = train_step(next(batches))
    return loss

while True:
    print(float(train_steps(batches)))
"""
    assert found(many) == []
    assert found(f"{STEP}\nfor epoch in range(9):\n    print(train_step(everything))") == []


def test_an_evaluation_may_read_its_results() -> None:
    """Only training steps are meant: predictions have to reach the host."""
    code = f"""
@tf.function
def predict(batch):
    return strategy.run(model, args=(batch,))

for batch in {BATCHES}:
    results.append(predict(batch).numpy())
"""
    assert found(code) == []


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *[(name, True) for name in ("GPU:0", "/gpu:1", "cpu", "/device:GPU:*", "/job:ps/task:0")],
        *[(name, False) for name in ("gpu0", "/cuda:0", "/GPU-0", "GPU:zero", "/device:GPU")],
        ("", True),
    ],
)
def test_device_names_are_read_as_tensorflow_does(name: str, known: bool) -> None:  # noqa: FBT001
    """Upper or lower case, alone or with the place of the machine."""
    assert found(f"with tf.device({name!r}):\n    pass") == ([] if known else ["misspelt-device"])


def test_a_guarded_old_call_is_meant() -> None:
    """Code that runs with several versions of TensorFlow asks before it calls."""
    guarded = """
    try:
        run = strategy.experimental_run_v2
        run(replica_step)
        strategy.experimental_run_v2(replica_step)
    except AttributeError:
        strategy.run(replica_step)
    """
    assert found(guarded) == []
    assert found("strategy.experimental_run_v2(replica_step)") == ["removed-call"]


def test_another_object_with_an_old_name_is_left_alone() -> None:
    """Only calls of a strategy count."""
    assert found("pool.unwrap(value)\npool.make_dataset_iterator(data)") == []


def test_a_scaled_mean_is_right() -> None:
    """Whoever divides by the number of replicas has thought of it."""
    code = """
    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.mse(labels, model(images))){}
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

    @tf.function
    def train_step(images, labels):
        strategy.run(replica_step, args=(images, labels))
    """
    assert found(code.format("")) == ["mean-over-replica"]
    assert found(code.format(" / strategy.num_replicas_in_sync")) == []
    assert found(code.format(" / REPLICAS")) == []


@pytest.mark.parametrize(
    ("loss", "wrong"),
    [
        ("tf.reduce_mean(keras.losses.MeanSquaredError(reduction='none')(labels, images))", True),
        (
            "tf.reduce_mean(K.losses.MeanSquaredError(reduction=K.losses.Reduction.NONE)(a, b))",
            True,
        ),
        ("penalty + tf.reduce_mean((labels - model(images)) ** 2)", True),
        ("tf.reduce_mean(keras.losses.MeanSquaredError()(labels, images))", False),
        ("tf.reduce_mean(loss_of_somebody_else(labels, images))", False),
        ("tf.reduce_mean(tf.square(labels), axis=1)", False),
        ("0.5 * tf.reduce_mean(tf.square(labels))", False),
        ("tf.nn.compute_average_loss(keras.losses.mse(labels, images))", False),
    ],
)
def test_only_a_mean_over_examples_counts(loss: str, *, wrong: bool) -> None:
    """Whatever may be scaled already, or is scaled afterwards, is left alone."""
    code = f"""
    def replica_step(images, labels):
        with tf.GradientTape() as tape:
            loss = {loss}
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

    @tf.function
    def train_step(images, labels):
        strategy.run(replica_step, args=(images, labels))
    """
    assert found(code) == (["mean-over-replica"] if wrong else [])


def test_a_mean_in_a_step_of_keras_counts_under_a_strategy() -> None:
    """Model.fit runs a train_step on every replica; without a strategy there is only one."""
    code = """
    class Mine(keras.Model):
        def train_step(self, data):
            images, labels = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(labels - self(images)))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}
    """
    assert found(code) == []
    scope = "\nwith strategy.scope():\n    model = Mine()\n"
    assert found(textwrap.dedent(code) + scope) == ["mean-over-replica"]


def test_a_model_may_come_from_a_function_that_enters_the_scope() -> None:
    """What is created in the scope is found there, wherever it is called from."""
    code = """
    def make_model():
        with strategy.scope():
            return keras.Sequential([keras.layers.Dense(1)])

    model = make_model()
    with strategy.scope():
        model.compile("adam", "mse")
    """
    assert found(code) == []
    assert found(code.replace("with strategy.scope():\n            return", "if True: return")) == [
        "created-outside-scope"
    ]


@pytest.mark.parametrize(
    ("optimizer", "works"),
    [
        ("keras.optimizers.SGD(0.1)", True),
        ("keras.optimizers.SGD(0.1, momentum=0.9)", False),
        ("keras.optimizers.Adam()", False),
        ("'sgd'", True),
        ("'Adam'", False),
        ("make_optimizer()", True),
    ],
)
def test_an_optimizer_that_keeps_nothing_may_come_from_outside(
    optimizer: str, *, works: bool
) -> None:
    """Plain gradient descent works from outside, too; what is unknown may be that."""
    rules = [] if works else ["created-outside-scope"]
    model = "keras.Sequential([keras.layers.Dense(1)])"
    outside = f"""
    optimizer = {optimizer}
    with strategy.scope():
        model = {model}
        model.compile(loss="mse", optimizer=optimizer)
    """
    compiled = f"""
    with strategy.scope():
        model = {model}
    model.compile({optimizer}, "mse")
    """
    assert found(compiled) == rules
    assert found(outside) == ([] if optimizer.startswith("'") else rules)


def test_metrics_and_variables_may_be_from_outside() -> None:
    """All replicas then update the one that there is."""
    code = """
    seen = tf.Variable(0.0)
    accuracy = keras.metrics.Mean()

    def replica_step():
        seen.assign_add(1.0)
        accuracy.update_state(1.0)

    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("adam", "mse", metrics=[accuracy])

    tf.function(lambda: strategy.run(replica_step))()
    """
    assert found(code) == []


def test_a_scope_that_may_be_entered_otherwise_is_unclear() -> None:
    """`with scope:` may be the strategy's."""
    code = """
    scope = strategy.scope() if several else contextlib.nullcontext()
    model = keras.Sequential([keras.layers.Dense(1)])
    with strategy.scope():
        model.compile("adam", "mse")
    """
    assert found(code) == []


def test_a_lock_is_seen_wherever_it_comes_from() -> None:
    """By its kind or by its name."""
    code = """
    import threading
    counter = tf.Variable(0)
    guard = threading.RLock()

    def work(lock):
        with {}:
            counter.assign(counter + 1)

    for _ in range(4):
        threading.Thread(target=work, args=(guard,)).start()
    """
    assert found(code.format("guard")) == []
    assert found(code.format("lock")) == []
    assert found(code.format("tf.device('CPU:0')")) == ["unlocked-threads"]


def test_a_single_thread_is_alone() -> None:
    """Nothing shows that anyone else writes."""
    code = """
    import threading
    counter = tf.Variable(0)

    def work():
        counter.assign(counter + 1)

    threading.Thread(target=work).start()
    """
    assert found(code) == []
    again = "threading.Thread(target=work).start()"
    either = f"if fast:\n    {again}\nelse:\n    {again}"
    assert found(textwrap.dedent(code).replace(again, either)) == []
    assert found(f"{textwrap.dedent(code)}\n{again}") == ["unlocked-threads"]


def test_names_are_followed_however_they_are_imported() -> None:
    """Modules, members and names of names."""
    for line in (
        "import tensorflow as anything; s = anything.distribute.MirroredStrategy()",
        "from tensorflow import distribute as d; s = d.MirroredStrategy()",
        "from tensorflow.distribute import MirroredStrategy as M; s = M()",
        "import tensorflow.compat.v2 as tf; dist = tf.distribute; s = dist.MirroredStrategy()",
        "import tensorflow as tf; make = tf.distribute.MirroredStrategy; s = t = make()",
        "import tensorflow as tf; s: object = tf.distribute.MirroredStrategy()",
    ):
        code = f"{line}\nfor batch in batches:\n    s.run(lambda: model(batch))\n"
        assert found(code, head="") == ["run-outside-function"], line


def test_a_file_that_does_not_use_tensorflow_is_none_of_our_business() -> None:
    """The same names may mean something else there, as they do inside of TensorFlow."""
    code = """
    # tensorflow
    def run_all(strategy, jobs):
        for job in jobs:
            strategy.run(lambda: work(job))
        print("done")
    """
    assert found(code, head="") == []
    assert found(code, head="from tensorflow.python.distribute import mirrored_strategy\n") == []
    for line in ("import tensorflow", "import keras.losses", "from tensorflow import data"):
        assert found(code, head=f"{line}\n") == ["run-outside-function"], line


OLD = "tf.distribute.experimental.TPUStrategy()"


@pytest.mark.parametrize(
    "code",
    [
        f"try:\n    s = tf.distribute.TPUStrategy()\nexcept AttributeError:\n    s = {OLD}",
        f"s = new() if current_version >= threshold else {OLD}",
        f"if cur_tf_ver == '2.0.0':\n    s = {OLD}",
        f"if not tf2.enabled():\n    s = {OLD}",
        f"def f():\n    err_if_tf2()\n    return {OLD}",
        f"def f():\n    if IS_TF2:\n        return new()\n    return {OLD}",
    ],
)
def test_who_knows_of_versions_is_left_alone(code: str) -> None:
    """Handlers, branches of expressions, and names that hold the version."""
    assert found(code) == []
    assert found(f"s = {OLD}") == ["deprecated-call"]


def test_estimators_are_gone_from_the_version_that_lacks_them() -> None:
    """What is written for an older TensorFlow is right there."""
    code = HEAD + "tf.estimator.RunConfig()\ntf.contrib.layers.l2_regularizer(0.1)"
    for target, count in (((2, 15), 1), ((2, 16), 2)):
        text = Text(file="train.py", content=code)
        assert len(check_text(text, rules(), target).findings) == count


def test_methods_that_only_strategies_have_need_no_strategy() -> None:
    """Wherever the strategy comes from."""
    code = "def f(distribution):\n    distribution.experimental_run_v2(step)"
    assert found(code) == ["removed-call"]


@pytest.mark.parametrize(
    "code",
    [
        "keras.optimizers.Adam(lr=0.1)",
        "keras.optimizers.legacy.Adam(0.1)",
        "keras.layers.experimental.preprocessing.Resizing(2, 2)",
        "keras.callbacks.ModelCheckpoint('weights')",
        "keras.metrics.Mean().reset_states()",
        "optimizer = keras.optimizers.Adam()\nprint(optimizer.lr)",
    ],
)
def test_what_keras_3_refuses_is_right_with_keras_2(code: str) -> None:
    """By the version that is meant, or by what the file says itself."""
    assert len(found(code)) == 1
    text = Text(file="train.py", content=HEAD + code)
    assert check_text(text, rules(), (2, 15)).findings == ()
    assert found(f"import tf_keras\n{code}") == []
    assert found(f"if keras.__version__ < '3':\n{textwrap.indent(code, '    ')}") == []


@pytest.mark.parametrize(
    "code",
    [
        "stepper.reset_states()",
        "lstm = keras.layers.LSTM(2, stateful=True)\nlstm.reset_states()",
        "class Rate(keras.metrics.Mean):\n    def reset_states(self): ...\nRate().reset_states()",
        "scheduler.lr",
        "path = make_path()\nkeras.callbacks.ModelCheckpoint(path)",
        "keras.callbacks.ModelCheckpoint('weights', save_weights_only=choice)",
        "model = keras.Sequential()\nmodel.save(f'{folder}/{name}')",
        "pool.fit(x, workers=2)",
    ],
)
def test_what_may_be_of_keras_3_is_left_alone(code: str) -> None:
    """Other objects, own methods, and paths whose end is not known."""
    assert found(code) == []


def test_what_another_decorator_returns_is_unknown() -> None:
    """It may be fetched already."""
    code = f"""
    @library.function
    def step(batch):
        return replica_step(batch)

    for batch in {BATCHES}:
        print(step(batch))
    """
    assert found(STEP + textwrap.dedent(code)) == []
    tensor = code.replace("library", "tf")
    assert found(STEP + textwrap.dedent(tensor)) == ["sync-every-step"]


def test_a_temporary_folder_is_each_workers_own() -> None:
    """Nobody else writes there."""
    code = """
    with (workers := tf.distribute.MultiWorkerMirroredStrategy()).scope():
        model = keras.Sequential()
    path = {}
    model.save(path)
    """
    assert found(code.format("tempfile.mkdtemp() + '/model.keras'"), head=HEAD[:-37]) == []
    assert found(code.format("'model.keras'"), head=HEAD[:-37]) == ["saved-by-every-worker"]
