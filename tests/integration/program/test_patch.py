"""What is to be changed in a user's own script."""

import ast
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest, trial_request
from autotune.program.patch import Patch, patch_for, program_of
from autotune.reason import Outcome, PlainReason, ReasonKind
from autotune.reason.sentences import reason_text
from autotune.workload import (
    FitData,
    FitFacts,
    OwnStrategy,
    WorkloadFacts,
    script_from_text,
    script_workload,
)
from tests.golden import CPUS, GPUS

from .conftest import Run

ONE = Configuration(per_replica_batch=32)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)
ARRAYS = """\
import keras
import numpy as np

x, y = np.ones((100, 8)), np.ones((100, 1))  # kept as it is
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(
    optimizer="adam",
    loss="mse",
)
model.fit(x, y, epochs=3)
"""
DATASET = """\
import tensorflow as tf

def main():
    model = build()
    model.compile("sgd")
    train = read("train").shuffle(100).batch(32)
    held = read("held").batch(32)
    model.fit(train, validation_data=held, epochs=2)

main()
"""


def patched(
    script: str, configuration: Configuration, data: FitData = FitData.ARRAYS, **fit: object
) -> tuple[Patch, str]:
    """Return the patch of a script, and what it makes of it."""
    line = next(i for i, each in enumerate(script.splitlines(), 1) if ".fit(" in each)
    facts = FitFacts.model_validate({"line": line, "of": "model", "data": data, **fit})
    known = WorkloadFacts(examples=100, usual_batch=32, fit=facts)
    found = patch_for("mine/script.py", script, configuration, known, CPUS)
    return found, applied(script, found.text) if found.text else script


def applied(script: str, patch: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mine", "script.py")
        file.parent.mkdir()
        file.write_text(script)
        command = ["git", "apply", "-"]
        subprocess.run(command, input=patch, text=True, cwd=folder, check=True)
        return file.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('    loss="mse",\n)', '    loss="mse",\n    steps_per_execution=2,\n)'),
        ('    loss="mse"\n)', '    loss="mse",\n    steps_per_execution=2\n)'),
        ("model.fit(x, y, epochs=3)", "model.fit(x, y, epochs=3, batch_size=64)\n"),
        ("model.fit(x, y, 32)", "model.fit(x, y, 64)\n"),
        ("model.fit(x, y, batch_size=SIZE)", "model.fit(x, y, batch_size=64)\n"),
    ],
)
def test_batch_and_steps_are_arguments(before: str, after: str) -> None:
    """Each in the place of the script's own, or behind the last; all else stays as it is."""
    place = "model.fit(x, y, epochs=3)" if ".fit" in before else '    loss="mse",\n)'
    _, text = patched(
        ARRAYS.replace(place, before), ONE.but(per_replica_batch=64, steps_per_execution=2)
    )
    assert after in text
    assert "# kept as it is" in text


def test_nothing_has_to_be_changed() -> None:
    found, _ = patched(ARRAYS, ONE)
    assert found == Patch()


def test_the_input_is_changed_where_fit_has_it_from() -> None:
    chosen = ONE.but(per_replica_batch=128, prefetch=4)
    _, text = patched(DATASET, chosen, FitData.DATASET)
    assert '.shuffle(100).batch(128)\n    held = read("held").batch(32)\n' in text
    assert "model.fit(train.prefetch(4), validation_data=held, epochs=2)" in text


def test_threads_of_the_input_are_options_of_the_data() -> None:
    chosen = ONE.but(private_threadpool_size=16, intra_op_parallelism_threads=1, prefetch=2)
    found, text = patched(DATASET, chosen, FitData.DATASET)
    assert "model.fit(train.prefetch(2).with_options(input_options), validation_data" in text
    assert "input_options = tf.data.Options()\n" in text
    assert "input_options.threading.private_threadpool_size = 16\n" in text
    assert text.index("import tensorflow") < text.index("intra_op") < text.index("input_options")
    found, _ = patched(f"{DATASET}input_options = 1\n", chosen, FitData.DATASET)
    assert "another use for the name `input_options`" in found.why_not


@pytest.mark.parametrize(
    ("script", "data", "use"),
    [
        (ARRAYS, FitData.ARRAYS, ("fit(x, y, epochs=3)", "fit(x, y, SIZE, epochs=3)")),
        (DATASET, FitData.DATASET, ("(100).batch(32)", "(100).batch(batch_size=SIZE)")),
    ],
    ids=["arrays", "dataset"],
)
def test_a_batch_with_a_name_is_changed_where_it_gets_it(
    script: str, data: FitData, use: tuple[str, str]
) -> None:
    """So that all else that reckons with it stays true, and one that is reckoned is left alone."""
    named = f"SIZE = 32\n{script.replace(*use)}rate = SIZE / 32\n"
    chosen = ONE.but(per_replica_batch=128, steps_per_execution=2)
    found, text = patched(named, chosen, data)
    assert found.text.count("\n-SIZE = 32\n+SIZE = 128\n") == 1
    assert use[1] in text
    for other in ("SIZE = 8 * 4\n", "SIZE = 32\nSIZE += 0\n", "SIZE = 32\nSIZE = 32\n"):
        _, text = patched(named.replace("SIZE = 32\n", other), chosen, data)
        assert other in text
        assert use[1].replace("SIZE", "128") in text


def test_gpus_need_no_logical_devices() -> None:
    facts = WorkloadFacts(usual_batch=128, fit=FitFacts(line=8, of="model", data=FitData.DATASET))
    chosen = MIRRORED.but(reduction="one_device")
    found = patch_for("script.py", DATASET, chosen, facts, GPUS)
    assert 'strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"]' in found.text
    assert "logical" not in found.text
    assert "+    with strategy.scope():\n+        model = build()\n" in found.text


@pytest.mark.parametrize(
    ("script", "chosen", "why"),
    [
        (ARRAYS, Configuration(strategy="multi_worker_mirrored", workers=2), "another loop"),
        (ARRAYS, MIRRORED.but(steps_per_execution=4), "another loop"),
        (ARRAYS, ONE.but(private_threadpool_size=2), "of a tf.data.Dataset alone"),
        (ARRAYS.replace("x, y, epochs=3", "x, **more"), ONE.but(per_replica_batch=64), r"\*\*"),
        (ARRAYS.replace("model.compile", "built.compile"), ONE.but(xla=True), "called 0 times"),
        (ARRAYS + "strategy = 1\n", MIRRORED.but(reduction="one_device"), "name `strategy`"),
        (
            ARRAYS.replace("keras.Sequential([keras.layers.Dense(1)])", "keras.Model(i, o)"),
            MIRRORED.but(reduction="one_device"),
            "out of the scope",
        ),
        ("model.fit(x, y)", MIRRORED.but(reduction="one_device"), "not made and compiled"),
        ("model.fit(x, y", ONE.but(per_replica_batch=64), "cannot be parsed"),
    ],
)
def test_what_cannot_be_written_is_told(script: str, chosen: Configuration, why: str) -> None:
    found, _ = patched(script, chosen)
    assert not found.text
    assert re.search(why, found.why_not)


@pytest.mark.parametrize(
    ("script", "facts", "why"),
    [
        (DATASET, {"steps": 10}, "steps of an epoch"),
        (ARRAYS, {"steps": 10, "data": FitData.ARRAYS}, "steps of an epoch"),
        (DATASET, {"own_strategy": OwnStrategy()}, "strategy of its own"),
        (
            DATASET.replace("train = read", "train = other.batch(4)\n    train = read"),
            {},
            "more than one place",
        ),
        (DATASET.replace("train = read", "train = load()\n    other = read"), {}, "another place"),
        (
            DATASET.replace("data=held", "data=h.batch(4)").replace("train =", "t ="),
            {},
            "another place",
        ),
    ],
    ids=[
        "steps that follow the batch",
        "of arrays",
        "strategy",
        "twice",
        "elsewhere",
        "data that validate",
    ],
)
def test_no_other_batch_is_changed(script: str, facts: dict[str, object], why: str) -> None:
    given = {"data": FitData.DATASET, **facts}
    found, _ = patched(script, ONE.but(per_replica_batch=64), **given)
    assert why in found.why_not


@pytest.mark.parametrize(
    ("steps", "asked", "written"), [(40, 32, 40), (40, 8, 8), (1875, 8, 5), (1875, 32, 25)]
)
def test_steps_per_call_divide_those_of_an_epoch(steps: int, asked: int, written: int) -> None:
    """By the nearest number; where that is another one the patch says so."""
    found, text = patched(ARRAYS, ONE.but(steps_per_execution=asked), steps=steps)
    assert f"steps_per_execution={written}," in text
    assert (f"{asked} do not divide the {steps}" in found.differs) is (asked != written)


@pytest.mark.parametrize(
    ("script", "fit", "batch", "why"),
    [
        (ARRAYS, {"steps": 59}, 32, "No number near"),
        (DATASET.replace("(32)", "(32).repeat(2)", 1), {"data": FitData.DATASET}, 64, "not known"),
        (
            DATASET.replace("batch(32)", "batch(32, drop_remainder=True)"),
            {"data": FitData.DATASET},
            64,
            "not known",
        ),
    ],
    ids=["prime", "repeated", "dropped remainder"],
)
def test_no_steps_per_call_are_written_that_may_not_divide(
    script: str, fit: dict[str, object], batch: int, why: str
) -> None:
    found, _ = patched(script, ONE.but(per_replica_batch=batch, steps_per_execution=8), **fit)
    assert not found.text
    assert why in found.why_not


def test_settings_of_the_script_do_not_stay() -> None:
    script = ARRAYS.replace('loss="mse",', 'loss="mse",\n    steps_per_execution=10,')
    _, text = patched(script, ONE)
    assert "steps_per_execution=1,\n" in text


def test_a_script_may_end_without_a_line_end() -> None:
    found, text = patched(ARRAYS.rstrip("\n"), ONE.but(per_replica_batch=64))
    assert "No newline at end of file" in found.text
    assert text.endswith("batch_size=64)")


TRAINED = """\
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
x, y = np.ones((256, 8), "float32"), np.ones((256, 1), "float32")
train = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(DATA, epochs=2, verbose=0)
replicas = model.distribute_strategy.num_replicas_in_sync
print("updates:", int(model.optimizer.iterations.numpy()), replicas)
"""


ENDLESS = "train.repeat(), steps_per_epoch=8"
SERIAL = {"per_replica_batch": 128, "steps_per_execution": 2, "intra_op_parallelism_threads": 1}


@pytest.mark.real
@pytest.mark.parametrize(
    ("data", "kind", "chosen", "updates"),
    [
        ("train", FitData.DATASET, ONE.but(**SERIAL), "4 1"),
        ("x, y", FitData.ARRAYS, MIRRORED.but(reduction="one_device"), "4 2"),
        (ENDLESS, FitData.DATASET, ONE.but(steps_per_execution=3), "16 1"),
    ],
    ids=["one device", "replicas", "data without end"],
)
def test_a_patched_script_trains_so(
    alone: Run, tmp_path: Path, data: str, kind: FitData, chosen: Configuration, updates: str
) -> None:
    """Two updates an epoch with a batch of 128, and as many as before with the script's own."""
    steps = {"steps": 8} if data is ENDLESS else {}
    found, text = patched(TRAINED.replace("DATA", data), chosen, kind, **steps)
    assert not found.why_not
    script = tmp_path / "script.py"
    script.write_text(text)
    assert f"updates: {updates}\n" in alone(script, cwd=tmp_path)


HEADS = {
    "environment": "import os\nos.environ['A'] = '2'\nimport tensorflow as tf\n",
    "docstrings": '"""One."""\nfrom __future__ import annotations\n"""Two."""\n',
    "in a function": "def main():\n    import tensorflow as tf\n",
    "that may fail": "try:\n    import tensorflow as tf\nexcept ImportError:\n    raise\n",
    "none": "",
    "call": "import warnings\nwarnings.filterwarnings('ignore')\nimport tensorflow as tf\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=list(HEADS))
def test_tensorflow_is_imported_before_it_is_told_anything(head: str) -> None:
    """Whatever stands among the imports; a `__future__` stays in front."""
    found, changed = patched(head + ARRAYS, ONE.but(intra_op_parallelism_threads=1))
    assert not found.why_not
    compile(changed, "script.py", "exec")
    lines = [ast.unparse(each) for each in ast.parse(changed).body]
    told = next(i for i, each in enumerate(lines) if each.startswith("tf.config"))
    assert "import tensorflow as tf" in lines[:told]


def test_an_optimizer_that_was_made_before_is_out_of_the_scope() -> None:
    """Wherever it stands among the arguments; one that is made in the scope is not."""
    script = ARRAYS.replace('optimizer="adam",\n    loss="mse",', 'loss="mse", optimizer=opt')
    made = "opt = keras.optimizers.Adam()\nmodel = "
    found, _ = patched(script.replace("model = ", made), MIRRORED)
    assert "out of the scope" in found.why_not
    inside = script.replace("model.compile(", "opt = keras.optimizers.Adam()\nmodel.compile(")
    assert not patched(inside, MIRRORED)[0].why_not


@pytest.mark.real
@pytest.mark.timeout(300)
def test_a_changed_script_is_timed_as_its_own_fit_trains(
    engine: LocalEngine, tmp_path: Path
) -> None:
    """In a trial, without its validation; one that does not train says why."""
    script = tmp_path / "script.py"
    script.write_text(ARRAYS)
    workload = script_workload(script_from_text(str(script)))
    facts = engine.execute(InspectionRequest(workload))
    chosen = Configuration(per_replica_batch=32, steps_per_execution=2)
    found = patch_for(workload.script.path, ARRAYS, chosen, facts, CPUS)
    assert facts.fit is not None
    plain = trial_request(chosen, workload, facts, CPUS, tmp_path / "trial")

    def run(changed: str) -> RunResult:
        text = program_of(workload.script.path, (), changed, facts.fit)
        request = replace(plain, script=text, folder=tmp_path / str(len(changed)))
        enough = Stop(Outcome.MEASURED, PlainReason(kind=ReasonKind.COMPLETED))
        return engine.execute(request, lambda windows: enough if len(windows) == 4 else None)

    result = run(found.changed)
    assert result.outcome is Outcome.MEASURED
    # Three full batches and the rest, in two calls.
    assert {window.steps % 2 for window in result.windows} == {0}
    broken = run(found.changed.replace('loss="mse"', 'loss="nosuch"'))
    assert broken.outcome is Outcome.FAILED
    assert "nosuch" in reason_text(broken.reason)
