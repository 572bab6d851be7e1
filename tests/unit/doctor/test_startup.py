"""Faults of start-up and of Keras 3, in the words in which people write them."""

from collections.abc import Callable, Mapping

import pytest

from tests.unit.doctor import programs

HEAD = "import json, os, sys\nimport keras\nimport numpy as np\nimport tensorflow as tf\n"
WORKERS = "tf.distribute.MultiWorkerMirroredStrategy()"
THREADS = "tf.config.threading.set_inter_op_parallelism_threads(2)"
MODEL = "keras.Sequential([keras.layers.Dense(1)])"
LATE = "runtime-already-started"
CONFIG = "tf-config-after-strategy"
FIT = "keras-fit-on-workers"
ACCUMULATION = "accumulation-on-replicas"
RANDOM = "random-order-then-shard"
ALONE = "collective-on-one-worker"


def found(code: str) -> list[tuple[str, int]]:
    return programs.found(code, HEAD)


STARTS = [
    "tf.constant([1.0])",
    "tf.Variable(0.0)",
    "tf.convert_to_tensor(np.ones(3))",
    "tf.data.Dataset.from_tensor_slices(np.ones(3))",
    "tf.data.Dataset.list_files('*.tfrecord', shuffle=False)",
    "tf.config.list_logical_devices('GPU')",
    "keras.optimizers.Adam(1e-3)",
    "tf.keras.metrics.Mean()",
    "keras.applications.ResNet50(weights=None)",
    "tf.compat.v1.constant(1.0)",
    "tf.random.Generator.from_seed(1)",
    "keras.utils.image_dataset_from_directory('images')",
    "keras.models.load_model('model.keras')",
    "keras.random.normal((2,))",
    "keras.Sequential([keras.layers.Dense(1)]).compile('sgd', 'mse')",
    "keras.Model(inputs, outputs).predict(rows)",
]
IDLE = [
    "tf.random.set_seed(1)",
    "keras.utils.set_random_seed(1)",
    "tf.config.list_physical_devices('GPU')",
    "tf.io.gfile.glob('*.tfrecord')",
    "tf.data.Options()",
    "tf.TensorSpec((), tf.int32)",
    "keras.layers.Dense(1)",
    "keras.Sequential([keras.layers.Dense(1)])",
    "keras.losses.MeanSquaredError()",
    "keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)",
    "keras.mixed_precision.set_global_policy('mixed_float16')",
    "keras.datasets.mnist.load_data()",
    "tf.function(lambda x: tf.constant(1.0) + x)",
    "tf.distribute.cluster_resolver.TFConfigClusterResolver()",
    "tf.distribute.get_strategy()",
    "tf.test.is_built_with_cuda()",
]


@pytest.mark.parametrize("start", STARTS)
def test_what_starts_the_runtime_comes_too_early(start: str) -> None:
    assert found(f"x = {start}\nstrategy = {WORKERS}") == [(LATE, 2)]
    assert found(f"x = {start}\n{THREADS}") == [(LATE, 2)]
    assert found(f"{THREADS}\nstrategy = {WORKERS}\nx = {start}") == []


@pytest.mark.parametrize("idle", IDLE)
def test_what_leaves_the_runtime_alone_may_come_first(idle: str) -> None:
    assert found(f"x = {idle}\n{THREADS}\nstrategy = {WORKERS}") == []


@pytest.mark.parametrize(
    "setting",
    [
        "tf.config.threading.set_intra_op_parallelism_threads(1)",
        "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])",
        "tf.config.experimental.set_virtual_device_configuration(gpu, [])",
        "tf.config.experimental.set_memory_growth(gpu, True)",
        "tf.config.set_visible_devices(gpus[:1], 'GPU')",
        "[tf.config.experimental.set_memory_growth(each, True) for each in gpus]",
        "tf.compat.v1.config.threading.set_inter_op_parallelism_threads(1)",
    ],
)
def test_settings_come_before_any_strategy(setting: str) -> None:
    """A strategy starts the runtime as an operation does."""
    for strategy in ("MirroredStrategy()", "OneDeviceStrategy('CPU:0')"):
        assert found(f"s = tf.distribute.{strategy}\n{setting}") == [(LATE, 2)]
        assert found(f"{setting}\ns = tf.distribute.{strategy}") == []


@pytest.mark.parametrize(
    "code",
    [
        "def main():\n    x = tf.zeros([2])\n    {}\n\nif __name__ == '__main__':\n    main()",
        "x = tf.zeros([2])\n\ndef make():\n    return {}",
        "def load():\n    return tf.zeros([2])\n\nload()\nif several:\n    {}",
        "def load():\n    return tf.zeros([2])\n\ndef main():\n    load()\n    return {}",
        "def begin():\n    return {}\n\ndef main():\n    x = tf.zeros([2])\n    begin()\n\nmain()",
        "with tf.device('CPU:0'):\n    x = tf.zeros([2])\n{}",
        "class Input:\n    def __init__(self):\n        self.x = tf.zeros([2])\n\nInput()\n{}",
        "if several:\n    x = tf.zeros([2])\n    s = {}",
        "def main():\n    if done():\n        return\n    x = tf.zeros([2])\n    s = {}",
        "print(tf.zeros([2]), {})",
        "x = tf.zeros([2])\n\ndef main(_):\n    {}\n\nif own:\n    app.run(main)",
    ],
)
def test_order_is_that_of_running(code: str) -> None:
    """Through functions, conditions and classes."""
    for late in (WORKERS, THREADS):
        assert [rule for rule, _ in found(code.replace("{}", late))] == [LATE]


@pytest.mark.parametrize(
    "code",
    [
        "def load():\n    return tf.zeros([2])\n\n{}\nload()",
        "if small:\n    x = tf.zeros([2])\nelse:\n    {}",
        "if small:\n    x = tf.zeros([2])\n{}",
        "for each in names:\n    x = tf.zeros([2])\n{}",
        "make = lambda: tf.zeros([2])\n{}",
        "def load():\n    if small:\n        return None\n    return tf.zeros([2])\n\nload()\n{}",
        "def load():\n    return tf.zeros([2])\n\ndef make():\n    return {}\n",
        "with tf.Graph().as_default():\n    x = tf.zeros([2])\n{}",
        "try:\n    x = tf.zeros([2])\nexcept ValueError:\n    {}",
        "x = small and tf.zeros([2])\n{}",
        "@tf.function\ndef step():\n    return tf.zeros([2])\n\nkept = step\n{}",
        "def rows():\n    yield tf.zeros([2])\n\nit = rows()\n{}",
        "if __name__ == '__main__':\n    x = tf.zeros([2])\n\ndef work():\n    {}",
        "x = tf.zeros([2])\n\ndef work():\n    {}\n\nTrainer(work).fit()",
        "x = tf.zeros([2])\n\n@ray.remote\ndef work():\n    {}\n\nwork.remote()",
    ],
)
def test_what_may_not_have_run_is_no_cause(code: str) -> None:
    for late in (WORKERS, THREADS):
        assert found(code.replace("{}", late)) == []


def test_only_strategies_of_several_workers_want_to_be_first() -> None:
    for strategy in ("Mirrored", "TPU", "ParameterServer"):
        assert found(f"x = tf.zeros([2])\ns = tf.distribute.{strategy}Strategy(resolver)") == []


def test_who_catches_the_error_knows_of_it() -> None:
    """As the guide to GPUs does; a strategy just before cannot be meant."""
    caught = f"try:\n    {THREADS}\nexcept RuntimeError as error:\n    print(error)"
    assert found(f"x = tf.zeros([2])\n{caught}") == []
    assert found(f"s = tf.distribute.MirroredStrategy()\n{caught}") == [(LATE, 3)]
    assert found(f"x = tf.zeros([2])\n{caught.replace(THREADS, f's = {WORKERS}')}") == []


def test_who_shows_one_strategy_after_the_other_has_no_cluster() -> None:
    """Without one, the strategy takes a runtime that has started; so does a runtime set back."""
    shown = f"a = tf.distribute.MirroredStrategy()\nx = tf.zeros([2])\nb = {WORKERS}"
    assert found(shown) == []
    assert found(f"x = tf.zeros([2])\ncontext._reset_context()\n{THREADS}") == []


def test_another_backend_of_keras_starts_nothing() -> None:
    """Where JAX computes, TensorFlow is there for the data only."""
    code = f"adam = keras.optimizers.Adam()\n{THREADS}"
    assert found(code) == [(LATE, 2)]
    assert found(f"os.environ['KERAS_BACKEND'] = 'jax'\n{code}") == []


VALUE = "json.dumps({'cluster': {'worker': hosts}, 'task': {'type': 'worker', 'index': 0}})"


@pytest.mark.parametrize(
    "setting",
    [
        f"os.environ['TF_CONFIG'] = {VALUE}",
        f"os.environ.update({{'TF_CONFIG': {VALUE}}})",
        f"os.environ.update(TF_CONFIG={VALUE})",
        f"os.environ.setdefault('TF_CONFIG', {VALUE})",
        f"os.putenv('TF_CONFIG', {VALUE})",
        f"os.environ |= {{'TF_CONFIG': {VALUE}}}",
    ],
)
def test_the_cluster_is_told_before_the_strategy(setting: str) -> None:
    assert CONFIG in [rule for rule, _ in found(f"s = {WORKERS}\n{setting}")]
    assert CONFIG not in [rule for rule, _ in found(f"{setting}\ns = {WORKERS}")]


@pytest.mark.parametrize(
    ("resolver", "rules"),
    [("TFConfigClusterResolver()", [CONFIG]), ("SimpleClusterResolver(s)", [])],
)
def test_only_a_resolver_of_the_environment_needs_it(resolver: str, rules: list[str]) -> None:
    given = f"cluster_resolver=tf.distribute.cluster_resolver.{resolver}"
    code = f"s = {WORKERS[:-1]}{given})\nos.environ['TF_CONFIG'] = {VALUE}"
    assert [rule for rule, _ in found(code)] == rules


def test_the_cluster_may_be_told_in_a_function() -> None:
    code = f"""
    def tell():
        os.environ["TF_CONFIG"] = {VALUE}

    def main():
        strategy = {WORKERS}
        tell()

    if __name__ == "__main__":
        main()
    """
    assert found(code) == [(CONFIG, 3)]
    assert found(f"def tell():\n    os.environ['TF_CONFIG'] = ''\n\nmain()\ns = {WORKERS}") == []


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ("{0}(2)\nx = tf.constant(1)\n{0}(2)", []),
        ("{0}(4)\n{0}(2)\nx = tf.constant(1)\n{0}(2)\n{0}(4)", [5]),
        ("{0}(2)\n{0}(4)\nx = tf.constant(1)\n{0}(2)", [4]),
        ("if small:\n    {0}(2)\nelse:\n    {0}(4)\nx = tf.constant(1)\n{0}(2)", [6]),
    ],
)
def test_what_is_in_force_may_be_set_again(settings: str, lines: list[int]) -> None:
    """TensorFlow refuses another value alone, and the last one before counts."""
    threads = "tf.config.threading.set_inter_op_parallelism_threads"
    assert found(settings.format(threads)) == [(LATE, line) for line in lines]


FITTED = f"""
strategy = {WORKERS}
with strategy.scope():
    model = {MODEL}
    model.compile("adam", "mse")
"""


@pytest.mark.parametrize("call", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_keras_3_cannot_train_on_several_workers(call: str) -> None:
    assert found(f"{FITTED}model.{call}(x, y)") == [(FIT, 6)]
    assert found(f"{FITTED}model.{call}(x, y)".replace("keras.S", "tf.keras.S")) == [(FIT, 6)]
    assert found(f"{FITTED}model.{call}(x, y)".replace("MultiWorker", "")) == []


def test_keras_3_cannot_fit_with_parameter_servers() -> None:
    """A step on one batch works, and so does `predict` elsewhere."""
    servers = FITTED.replace("MultiWorkerMirroredStrategy()", "ParameterServerStrategy(resolver)")
    for call in ("fit", "evaluate", "predict"):
        assert found(f"{servers}model.{call}(x)") == [(FIT, 6)]
    assert found(f"{servers}model.train_on_batch(x)") == []
    assert found(f"{FITTED}model.predict(x)") == []


MIRRORED = "strategy = tf.distribute.MirroredStrategy()\n"
ADAM = "keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4)"
SHARD = ".shard(context.num_input_pipelines, context.input_pipeline_id)"
STEP = f"""
strategy = {WORKERS}
task = strategy.cluster_resolver.task_id

def replica_step(batch):
    optimizer.apply_gradients(gradients_of(batch))

@tf.function
def step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)
"""
HEADS = {ACCUMULATION: MIRRORED, ALONE: STEP}
FOUND = {
    FIT: [
        f"s = {WORKERS}\nwith s.scope():\n    model = imported.build()\nmodel.fit(x)",
        (
            f"class T:\n    def __init__(self):\n        self.s = {WORKERS}\n"
            f"        with self.s.scope():\n            self.net = {MODEL}\n\n"
            "    def train(self):\n        self.net.fit(x)"
        ),
        (
            f"s = {WORKERS} if several else tf.distribute.MirroredStrategy()\n"
            f"with s.scope():\n    net = {MODEL}\nnet.fit(x)"
        ),
        f"def make():\n    return {WORKERS}\n\nwith make().scope():\n    net = {MODEL}\nnet.fit(x)",
        f"class Own(keras.Model): ...\n\nwith {WORKERS}.scope():\n    net = Own()\nnet.fit(x)",
        f"def train(m):\n    m.fit(x)\n\nwith {WORKERS}.scope():\n    net = {MODEL}\ntrain(net)",
    ],
    ACCUMULATION: [
        f"STEPS = 8\nwith strategy.scope():\n    o = {ADAM.replace('=4', '=STEPS')}",
        f"with strategy.scope():\n    o = tf.{ADAM}",
        (
            f"def optimizer():\n    return {ADAM}\n\ndef build():\n    m = {MODEL}\n"
            "    m.compile(optimizer())\n    return m\n\nwith strategy.scope():\n    build()"
        ),
    ],
    RANDOM: [
        f"ds = tf.data.Dataset.range(9).shuffle(9){SHARD}",
        f"ds = tf.data.Dataset.range(9)\nds = ds.shuffle(9)\nds = ds.map(f)\nds = ds{SHARD}",
        f"files = tf.data.Dataset.list_files('*', shuffle=True)\nds = files{SHARD}",
        f"ds = tf.data.Dataset.list_files('*')\nif several:\n    ds = ds{SHARD}",
        f"ds = tf.data.TFRecordDataset(names).shuffle(100, seed=None).batch(8){SHARD}",
    ],
    ALONE: [
        "if strategy.cluster_resolver.task_id == 0:\n    every = strategy.gather(values, axis=0)",
        "if is_chief(task):\n    step(batch)",
        "if epoch % 5 == 0 and is_chief:\n    step(batch)",
        "if task != 0:\n    print('waits')\nelse:\n    step(batch)",
        "if not is_chief():\n    strategy.run(replica_step, args=(batch,))",
        "total = strategy.reduce('SUM', values, axis=None) if task == 0 else 0",
    ],
}
LEFT_ALONE = {
    CONFIG: [
        f"s = {WORKERS}\nos.environ['TF_CONFIG'] = ''",
        f"s = {WORKERS}\nos.environ.pop('TF_CONFIG', None)",
        f"s = {WORKERS}\nenv = dict(os.environ)\nenv['TF_CONFIG'] = {VALUE}",
        f"s = {WORKERS}\nos.environ['TF_CONFIG'] = {VALUE}\nsubprocess.Popen(command)",
        f"s = {WORKERS}\nos.environ['TF_CONFIG'] = {VALUE}\nos.environ['TF_CONFIG'] = {VALUE}",
        f"s = {WORKERS}\nos.environ['TF_CONFIG'] = {VALUE}\ns = {WORKERS}",
        f"old = os.environ['TF_CONFIG']\ns = {WORKERS}\nos.environ['TF_CONFIG'] = old",
        f"old = os.environ.get('TF_CONFIG')\ns = {WORKERS}\nos.environ['TF_CONFIG'] = old",
        f"s = tf.distribute.MirroredStrategy()\nos.environ['TF_CONFIG'] = {VALUE}",
        f"s = tf.distribute.OneDeviceStrategy('CPU:0')\nos.environ['TF_CONFIG'] = {VALUE}",
        f"s = {WORKERS[:-1]}cluster_resolver=slurm)\nos.environ['TF_CONFIG'] = {VALUE}",
        f"def tell():\n    os.environ['TF_CONFIG'] = {VALUE}\n\ndef main():\n    s = {WORKERS}",
    ],
    FIT: [
        f"import tf_keras\n{FITTED}model.fit(x)",
        f"from tf_keras.layers import Dense\n{FITTED}model.fit(x)",
        f"os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')\n{FITTED}model.fit(x)",
        f"os.environ.update(TF_USE_LEGACY_KERAS='1')\n{FITTED}model.fit(x)",
        f"os.putenv('TF_USE_LEGACY_KERAS', '1')\n{FITTED}model.fit(x)",
        f"s = {WORKERS}\nwith s.scope():\n    scaler = StandardScaler()\nscaler.fit(x)",
        (
            f"from sklearn.svm import SVC\n{FITTED}\nwith strategy.scope():\n    model_b = SVC()\n"
            "model_b.fit(x)"
        ),
        f"{FITTED}\ntest_model = {MODEL.replace('Sequential', 'other')}\ntokenizer.fit(x)",
        (
            f"a = tf.distribute.MirroredStrategy()\nb = {WORKERS}\n"
            f"with a.scope():\n    net = {MODEL}\nnet.fit(x)"
        ),
        f"{FITTED}if keras.__version__ < '3':\n    model.fit(x)",
        f"s = tf.distribute.get_strategy()\nwith s.scope():\n    net = {MODEL}\nnet.fit(x)",
        (
            f"s = {WORKERS} if several else tf.distribute.MirroredStrategy()\n"
            f"with s.scope():\n    net = {MODEL}\nif not several:\n    net.fit(x)"
        ),
        f"net = {MODEL}\nnet.compile('sgd')\nnet.fit(x)\nwith {WORKERS}.scope():\n    other = 1",
    ],
    ACCUMULATION: [
        f"with strategy.scope():\n    o = {ADAM.replace('=4', '=None')}",
        f"with strategy.scope():\n    o = {ADAM.replace('=4', '=args.steps')}",
        f"plain = {MODEL}\nplain.compile({ADAM}, 'mse')",
        "with strategy.scope():\n    o = TrainingArguments(gradient_accumulation_steps=4)",
        (
            "keras.mixed_precision.set_global_policy('mixed_float16')\n"
            f"with strategy.scope():\n    model = {MODEL}"
        ),
    ],
    RANDOM: [
        f"ds = tf.data.Dataset.list_files('*', seed=3){SHARD}",
        f"ds = tf.data.Dataset.list_files('*', shuffle=training){SHARD}",
        f"ds = tf.data.Dataset.list_files('*', None, 3){SHARD}",
        f"ds = tf.data.Dataset.range(9).shuffle(9, seed=1){SHARD}",
        f"ds = tf.data.Dataset.range(9).shuffle(9, 1){SHARD}",
        f"ds = tf.data.Dataset.range(9){SHARD}.shuffle(9)",
        f"ds = tf.data.Dataset.range(9)\nif several:\n    ds = ds{SHARD}\nds = ds.shuffle(9)",
        f"ds = tf.data.Dataset.range(9)\nif training:\n    ds = ds.shuffle(9)\nds = ds{SHARD}",
        f"ds = tf.data.Dataset.range(9)\nif a:\n    ds = ds.shuffle(9)\nelse:\n    ds = ds{SHARD}",
        f"ds = tf.data.Dataset.range(9).shuffle(9)\nds = make()\nds = ds{SHARD}",
        "deck = Deck().shuffle().shard(2, 0)",
        "ds = datasets.load_dataset('x').shuffle().shard(2, 0)",
    ],
    ALONE: [
        "if task == 0:\n    a = step(batch)\nelse:\n    step(batch)",
        "if task is not None:\n    step(batch)",
        "if task_type == 'worker':\n    step(batch)",
        "if task == 0:\n    local = strategy.experimental_local_results(values)",
        "if is_chief:\n    strategy.run(lambda: tf.print('here'))",
        "if is_chief:\n    def later():\n        step(batch)",
        "if is_chief:\n    model.save('model.keras')",
        "if is_chief:\n    step = make_step()\nstep(batch)",
    ],
}
"""No mistake: others may know it, it is for somebody else, or all do the same."""
CURES: Mapping[str, list[Callable[[str], str]]] = {
    ACCUMULATION: [
        lambda code: code.replace("MirroredStrategy()", "OneDeviceStrategy('GPU:0')"),
        lambda code: f"import tf_keras\n{code}",
        lambda code: code.replace("gradient_accumulation_steps=", "weight_decay="),
    ],
    RANDOM: [
        lambda code: f"tf.random.set_seed(1)\n{code}",
        lambda code: f"keras.utils.set_random_seed(1)\n{code}",
    ],
    ALONE: [lambda code: code.replace("MultiWorker", "")],
}
"""After which nothing is found."""


def cases(codes: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    return [(rule, HEADS.get(rule, "") + code) for rule, some in codes.items() for code in some]


@pytest.mark.parametrize(("rule", "code"), cases(FOUND))
def test_a_mistake_is_found_in_any_shape(rule: str, code: str) -> None:
    """Through functions, classes and conditions; no longer where it is cured."""
    assert [each for each, _ in found(code)] == [rule]
    for cured in CURES.get(rule, ()):
        assert found(cured(code)) == []


@pytest.mark.parametrize(("rule", "code"), cases(LEFT_ALONE))
def test_what_is_no_mistake_is_left_alone(rule: str, code: str) -> None:
    """Other libraries and strategies, another order, what is the same for all."""
    told = [each for each, _ in found(code)]
    assert rule not in told
    assert rule in {FIT, ALONE} or told == []
