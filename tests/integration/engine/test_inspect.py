"""A look at the factories finds what a search needs to know, or tells what is wrong with them."""

import time
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest
from autotune.errors import DatasetTooSmall, FactoryFailed, FactoryNotFound, WorkloadError
from autotune.shared_values import Change
from autotune.workload import Factory, Workload, WorkloadFacts

from .conftest import BUSY, Inspect, in_module

pytestmark = pytest.mark.real

MODEL = """
import keras
def model_fn():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(2), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model
"""
DATASET = """
import numpy as np, tensorflow as tf
def dataset_fn():
    return tf.data.Dataset.from_tensor_slices((np.ones((40, 8), "float32"), np.ones((40, 1))))
"""


def dataset(expression: str, parameters: str = "") -> str:
    imports = "import time, numpy as np, tensorflow as tf"
    return f"{imports}\ndef dataset_fn({parameters}):\n    return {expression}\n"


ONES = "tf.data.Dataset.from_tensor_slices((np.ones((40, 8)), np.ones((40, 1))))"
RAGGED = "lambda x, y: (x[: tf.random.uniform((), 1, 8, tf.int32)], y)"
NOISE = "lambda x, y: (x + tf.random.uniform((8,), seed=1, dtype=x.dtype), y)"
LATE = (
    "lambda n: (tf.cond(n > 9_000, lambda: tf.random.uniform((8,)), lambda: tf.zeros((8,))), "
    "tf.ones((1,)))"
)
GENERATOR = (
    "tf.data.Dataset.from_generator({}, output_signature="
    "(tf.TensorSpec((8,)), tf.TensorSpec((1,))))"
)


@pytest.fixture
def inspect(engine: LocalEngine, tmp_path: Path) -> Inspect:

    def inspect(
        dataset: str = DATASET,
        model: str = MODEL,
        *,
        seconds: float = 60.0,
        names: tuple[str, str] = ("model_fn", "dataset_fn"),
        dataset_arguments: dict[str, object] | None = None,
    ) -> WorkloadFacts:
        # Each in a folder of its own: of two texts of equal length, written within a second, Python
        # takes the second for the first, which it has compiled.
        root = tmp_path / f"user-{len(list(tmp_path.glob('user-*')))}"
        root.mkdir()
        (root / "my_model.py").write_text(model)
        (root / "my_data.py").write_text(dataset)
        fixed = tuple((dataset_arguments or {}).items())
        workload = Workload(
            model=Factory(name=names[0], module="my_model", root=str(root)),
            dataset=Factory(name=names[1], module="my_data", root=str(root), arguments=fixed),
        )
        return engine.execute(InspectionRequest(workload, seconds=seconds))

    return inspect


def test_facts_of_plain_factories(inspect: Inspect) -> None:
    facts = inspect()
    assert (facts.examples, facts.example_bytes) == (40, 8 * 4 + 8)
    assert (facts.weights, facts.gradient_bytes) == (21, 84)
    assert (facts.optimizer, facts.loss) == ("Adam", "mse")
    assert (facts.repeatable, facts.file_shards, facts.python_input) == (True, 0, False)
    assert "(8,)" in facts.element
    assert not facts.lengths_vary


def test_declared_parameters_are_filled(inspect: Inspect) -> None:
    """A factory that batches and shards by itself gets what it names, and its own arguments."""
    text = dataset(
        "tf.data.Dataset.from_tensor_slices((np.random.rand(40, 8), np.ones((40, 1))))"
        ".shuffle(40).batch(batch_size, drop_remainder=True)"
        ".take(input_context.num_input_pipelines)",
        "input_context, batch_size, *, number, num_parallel_calls=None",
    )
    facts = inspect(text, dataset_arguments={"number": 3})
    assert facts.dataset_takes == ("input_context", "batch_size", "number", "num_parallel_calls")
    assert (facts.examples, facts.example_bytes) == (32, 8 * 9)
    assert not facts.repeatable


@pytest.mark.parametrize(
    "expression",
    [
        GENERATOR.format("lambda: ((np.ones(8), np.ones(1)) for _ in range(40))"),
        f"{ONES}.map(lambda x, y: (tf.numpy_function(abs, [x], x.dtype), y)).prefetch(1)",
    ],
)
def test_python_code_in_the_input_is_seen(inspect: Inspect, expression: str) -> None:
    """Other processes cannot run it, wherever in the dataset it is; its examples are counted."""
    facts = inspect(dataset(expression))
    assert (facts.python_input, facts.examples) == (True, 40)


SLOW = "lambda x, y: (tf.py_function(lambda x: (time.sleep(0.01), x)[1], [x], x.dtype), y)"


def test_the_input_alone_is_read_twice(inspect: Inspect) -> None:
    """A cache is seen, and so is how much sooner the second pass ends."""
    facts = inspect(dataset(f"{ONES}.map({SLOW}).cache().prefetch(8)"))
    assert (facts.cached, facts.prefetched) == (True, 8)
    assert facts.first_pass is not None
    assert facts.second_pass is not None
    assert (facts.first_pass.examples, facts.first_pass.whole) == (40, True)
    assert facts.first_pass.seconds >= 0.4
    assert facts.second_pass.seconds < facts.first_pass.seconds / 2


def test_a_shuffle_pauses_every_pass(inspect: Inspect) -> None:
    """Thirty of forty examples are read before the first one is given."""
    facts = inspect(dataset(f"{ONES}.map({SLOW}).shuffle(30)"))
    assert 0.2 <= facts.second_pass.pause < facts.second_pass.seconds
    assert (facts.cached, facts.prefetched) == (False, 0)


LINES = "tf.data.Dataset.range(1, 65).map(lambda n: (tf.ones([n, 8]), [1.0]))"
MEANS = """
import keras
def model_fn():
    model = keras.Sequential(
        [keras.Input((None, 8)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    return model
"""


MEANS_OF_BOTH = """
import keras
def model_fn():
    inputs = {"a": keras.Input((8,), name="a"), "b": keras.Input((8,), name="b")}
    outputs = keras.layers.Dense(1)(inputs["a"] + inputs["b"])
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    return model
"""


@pytest.mark.parametrize("of_batch", [64, None])
def test_lengths_that_vary_are_seen(inspect: Inspect, of_batch: int | None) -> None:
    padded = f"{LINES}.padded_batch(batch_size, (({of_batch}, 8), (1,)), drop_remainder=True)"
    facts = inspect(dataset(padded, "batch_size"), MEANS)
    assert facts.lengths_vary == (of_batch is None)


COUNTED = {
    "lengths": f"{ONES}.map(lambda x, y: (x[:tf.random.uniform((), 1, 8, tf.int32)], y))"
    ".padded_batch(8, ([8], [1])).unbatch()",
    "names": f"{ONES}.filter(lambda x, y: True).map(lambda x, y: (dict(b=x, a=x), y))",
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_busy_machine_finds_no_other_workload(inspect: Inspect, name: str) -> None:
    model = MEANS_OF_BOTH if name == "names" else MODEL
    quiet = inspect(dataset(COUNTED[name]), model)
    busy = inspect(BUSY + dataset(COUNTED[name]), model)
    assert quiet.certain("examples") == quiet.examples == 40
    assert busy.certain("examples") is None
    assert busy.declared == quiet.declared


def test_a_number_that_differs_between_passes_is_not_certain(inspect: Inspect) -> None:
    """Another inspection finds another one, however much time it has."""
    # Few examples, so that a busy machine has the time for both passes.
    longer = "lambda: iter([([0.0] * 8, [0.0])] * next(passes))"
    some = f"(lambda passes: {GENERATOR.format(longer)})(iter(range(10, 1000)))"
    facts = inspect(dataset(some))
    assert facts.examples
    assert facts.certain("examples") is None


def test_files_that_workers_can_share(inspect: Inspect, tmp_path: Path) -> None:
    """As many workers as there are files can read them; a busy machine is not certain of it."""
    names = [str(tmp_path / f"{index}.txt") for index in range(3)]
    for name in names:
        Path(name).write_text("1\n2\n")
    parse = "lambda line: (tf.fill((8,), tf.strings.to_number(line)), tf.ones((1,)))"
    text = dataset(f"tf.data.TextLineDataset({names}).map({parse})")
    facts = inspect(text)
    assert (facts.certain("file_shards"), facts.examples) == (3, 6)
    assert inspect(BUSY + text).certain("file_shards") is None


def test_factories_by_value(engine: LocalEngine) -> None:
    factories = {}
    for role, text in (("model", MODEL), ("dataset", DATASET)):
        # The import goes inside, so that this process needs no TensorFlow.
        imports, _, function = text.strip().partition("\n")
        first_line, _, body = function.partition("\n")
        cell: dict[str, Callable[..., object]] = {}
        exec(f"{first_line}\n    {imports}\n{body}", cell)  # noqa: S102 - as a notebook does
        factories[role] = Factory(name="cell", pickled=cloudpickle.dumps(cell[f"{role}_fn"]))
    assert engine.execute(InspectionRequest(Workload(**factories))).examples == 40


DEEP = "lambda: ((np.ones(8), np.ones(1 if i < 90 else 2)) for i in range(100))"
KILL = "os.kill(os.getpid(), 9)"
IN_SCOPE = """
import tensorflow as tf
plain = model_fn
def model_fn():
    with tf.distribute.MirroredStrategy().scope():
        return plain()
"""
NOT_IMPORTED = [
    ({"model": "import nonesuch\n"}, "nonesuch.*my_model.py line 1.*Install nonesuch"),
    ({"model": "def model_fn(:\n"}, "SyntaxError: .*my_model.py line 1"),
    ({"model": "import sys; sys.exit(2)\n"}, "SystemExit: 2.*__main__"),
    ({"names": ("model_fun", "dataset_fn")}, "no attribute 'model_fun'.*mean model_fn"),
    ({"model": "model_fn = 3\n"}, "is not callable \\(type int\\)"),
]
FAILED = [
    ({"model": "def model_fn(): raise KeyError('x')\n"}, "model_fn raised KeyError: 'x'.*line 1"),
    ({"model": "def model_fn(): pass\n"}, "model_fn returned nothing"),
    ({"model": MODEL.replace("model.compile", "dict")}, "not compiled.*compile"),
    ({"model": MODEL + IN_SCOPE}, "a MirroredStrategy of its own distributes.*Remove"),
    ({"dataset": dataset("[1]")}, "returned a list, which cannot become a dataset"),
    ({"dataset": dataset("tf.data.Dataset.range(9)")}, "cannot be trained on.*with labels"),
    (
        {"dataset": dataset(f"{ONES}.batch(7)", "batch_size")},
        "batch_size=32, but its batches hold 5 to 7 examples",
    ),
    (
        {"dataset": dataset(f"{ONES}.batch(4)")},
        "yields batches of 4, not single examples.*`batch_size`.*`unbatch=True`",
    ),
    (
        {"dataset": dataset(GENERATOR.format("lambda: iter([[1]])"))},
        "failed on its first example",
    ),
    ({"dataset": dataset(f"{ONES}.map({RAGGED})")}, "cannot be batched"),
    ({"dataset": dataset(ONES, "cache=False")}, "does not apply it"),
    ({"dataset": dataset(GENERATOR.format(DEEP))}, "failed while it was read"),
    (
        {"dataset": dataset(GENERATOR.format("lambda: time.sleep(1000)")), "seconds": 10},
        "no further for 10 s while reading the first example",
    ),
    ({"model": "import os\ndef model_fn(): os.abort()\n"}, "killed by SIGABRT while calling model"),
    ({"model": f"import os\ndef model_fn(): {KILL}\n"}, "killed by SIGKILL while calling model"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "case", "text"),
    [
        *((FactoryNotFound, case, text) for case, text in NOT_IMPORTED),
        *((FactoryFailed, case, text) for case, text in FAILED),
        (DatasetTooSmall, {"dataset": dataset(f"{ONES}.take(0)")}, "empty"),
    ],
)
def test_a_factory_that_breaks_its_contract(
    inspect: Inspect, kind: type[WorkloadError], case: dict[str, object], text: str
) -> None:
    """The error says what is missing or what the factory did, where, and what to do."""
    with pytest.raises(kind, match=f"(?s){text}") as caught:
        inspect(**case)
    assert type(caught.value) is kind
    assert caught.value.next_step


def test_callbacks_are_checked_too(engine: LocalEngine, tmp_path: Path) -> None:
    text = f"{MODEL}{DATASET}\ndef callbacks_fn(): return keras\n"
    request = InspectionRequest(in_module(tmp_path, text, "callbacks"))
    with pytest.raises(FactoryFailed, match=r"did not return a list"):
        engine.execute(request)


def test_a_dataset_that_stops_giving(inspect: Inspect) -> None:
    source = (
        "import time\n"
        "def numbers():\n"
        "    for i in range(100):\n"
        "        if i > 70: time.sleep(1000)\n"
        "        yield np.ones(8), np.ones(1)\n"
    )
    begun = time.monotonic()
    facts = inspect(source + dataset(GENERATOR.format("numbers")), seconds=8)
    assert (facts.examples, facts.repeatable) == (None, True)
    assert time.monotonic() - begun < 300


def test_a_file_with_the_name_of_an_installed_module(engine: LocalEngine, tmp_path: Path) -> None:
    shadowed = in_module(tmp_path, MODEL + DATASET, module="keras")
    with pytest.raises(FactoryNotFound, match=r"shadowed by another module.*Rename"):
        engine.execute(InspectionRequest(shadowed))


@pytest.mark.parametrize(
    ("expression", "stage", "buffer"),
    [
        (f"{ONES}.shuffle(8, seed=1)", "Shuffle", 8),
        (f"{ONES}.shuffle(8).map(lambda x, y: (x + 1, y))", "Shuffle", 8),
        (f"{ONES}.shuffle(8).take(30)", "Shuffle", 0),
        (f"{ONES}.shuffle(8).shuffle(9)", "Shuffle", 0),
        (f"{ONES}.map({NOISE})", "Map", 0),
        (f"tf.data.Dataset.range(10_000).map({LATE})", "Map", 0),
    ],
)
def test_the_stage_that_is_random_is_found(
    inspect: Inspect, expression: str, stage: str, buffer: int
) -> None:
    """However late or rarely it draws, and though its seed makes two passes alike."""
    facts = inspect(dataset(expression))
    assert not facts.repeatable
    assert (facts.random_stage, facts.shuffle_buffer) == (stage, buffer)


@pytest.mark.parametrize(
    ("expression", "stage"),
    [
        (f"{ONES}.map({NOISE}).cache().shuffle(8)", "Map"),
        (f"{ONES}.cache().map({NOISE})", ""),
        (f"{ONES}.shuffle(8).cache()", ""),
        (f"{ONES}.map({NOISE})", ""),
    ],
)
def test_what_a_cache_freezes_is_found(inspect: Inspect, expression: str, stage: str) -> None:
    """Examples that are drawn before it, not their order."""
    assert inspect(dataset(expression)).frozen_stage == stage


@pytest.mark.parametrize(
    ("change", "repeatable"),
    [
        ("np.random.random() < 0", False),
        ("random.random() < 0", False),
        ("i == 99 and Pass.number % 2", False),
        ("False", True),
    ],
)
def test_python_code_that_is_random_is_found(
    inspect: Inspect, change: str, *, repeatable: bool
) -> None:
    """It draws random numbers that nothing shows yet, or changes an example far behind."""
    source = (
        "import random\n"
        "class Pass:\n"
        "    number = 0\n"
        "def numbers():\n"
        "    Pass.number += 1\n"
        "    for i in range(100):\n"
        f"        yield np.full(8, {change}, np.float32), np.ones(1)\n"
    )
    assert inspect(source + dataset(GENERATOR.format("numbers"))).repeatable is repeatable


def test_what_is_handed_over_is_looked_at(inspect: Inspect) -> None:
    """Its size is that of what the cache would hold, and it may be random behind."""
    behind = ".map(lambda x, y: (x[:8] + tf.random.uniform((8,), dtype=x.dtype), y))"
    wide = "tf.data.Dataset.from_tensor_slices((np.ones((40, 16)), np.ones((40, 1))))"
    facts = inspect(dataset(f"cache({wide}){behind}", "cache"))
    assert not facts.repeatable
    assert [each.change for each in facts.handed] == [Change.NOTHING]
    assert facts.cache_bytes == 40 * 17 * 8
    late = inspect(dataset(f"cache({wide}{behind})", "cache"))
    assert [each.change for each in late.handed] == [Change.EXAMPLES]


def test_an_embedding_is_not_exchanged_in_full(inspect: Inspect) -> None:
    """Only the gradients of the dense layers count for what an all-reduce has to move."""
    model = """
import keras
def model_fn():
    layers = [
        keras.Input((8,)), keras.layers.Embedding(1000, 4),
        keras.layers.Flatten(), keras.layers.Dense(1),
    ]
    model = keras.Sequential(layers)
    model.compile(optimizer="adam", loss="mse")
    return model
"""
    facts = inspect(model=model)
    assert facts.gradient_bytes == 4 * (1000 * 4 + 33)
    assert facts.dense_gradient_bytes == 4 * 33


def test_a_process_that_is_killed_once_looks_again(inspect: Inspect, tmp_path: Path) -> None:
    """Somebody may have meant another one."""
    once = f"if not os.path.exists({str(tmp_path / 'killed')!r}):"
    mark = f"open({str(tmp_path / 'killed')!r}, 'w').close()"
    indented = MODEL.replace(
        "def model_fn():\n", f"def model_fn():\n    {once}\n        {mark}; {KILL}\n"
    )
    assert inspect(model=f"import os\n{indented}").examples == 40
