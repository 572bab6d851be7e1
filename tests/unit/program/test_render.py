"""What rendering decides, apart from the text of whole programs."""

import ast
import math
import re
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from autotune.base import Scalar
from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.program import Program, epoch_in_words, render
from autotune.program.text import imports_in, sections
from autotune.shared_values import Count
from autotune.workload import (
    Factory,
    FitData,
    FitFacts,
    Script,
    Workload,
    WorkloadFacts,
    script_workload,
)
from autotune.workload.source import Source
from tests.golden import CPUS, SERVED, TWO_WORKERS

from .conftest import of_library

ONE = Configuration()
GANG = TWO_WORKERS.but(shard_policy="data")


def by_import(name: str = "f", root: str | None = None, **arguments: Scalar) -> Factory:
    return Factory(name=name, module="mine", root=root, arguments=tuple(arguments.items()))


def by_value(text: str, expression: str, *missing: str) -> Factory:
    source = Source(text=text, expression=expression, missing=missing)
    return Factory(name=expression, source=source)


def rendered(
    configuration: Configuration | None = None,
    model: Factory | None = None,
    dataset: Factory | None = None,
    callbacks: Factory | None = None,
    **facts: object,
) -> Program:
    """Render a program in which only the given parts matter."""
    workload = Workload(
        model=model or by_import(), dataset=dataset or by_import(), callbacks=callbacks
    )
    known = WorkloadFacts.model_validate({"examples": 64, **facts})
    return render(configuration or ONE, workload, known, CPUS)


def run(text: str) -> ModuleType:
    """Execute the part of a program that comes before its strategy, without its imports."""
    head = ast.parse(re.split(r"^def make_(?:strategy|dataset)\b", text, flags=re.MULTILINE)[0])
    head.body = [each for each in head.body if not isinstance(each, ast.Import | ast.ImportFrom)]
    module = ModuleType("head")
    vars(module)["needs_values"] = of_library("keras_training", "needs_values")
    exec(compile(head, "<head>", "exec"), vars(module))  # noqa: S102 - our own text
    return module


def test_only_gangs_have_a_launcher() -> None:
    assert rendered().launch is None
    assert 'PROCESSES = {"worker": 2}' in (rendered(GANG).launch or "")


def test_an_argument_that_nobody_declares_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"'unit'.*Declared are: units"):
        rendered(Configuration(arguments=(("unit", 1),)), model_takes=("units",))


def test_a_fixed_argument_replaces_what_the_tuner_would_pass() -> None:
    takes = ("num_parallel_calls",)
    text = rendered(dataset=by_import(num_parallel_calls=3), dataset_takes=takes).train
    assert "dataset_fn(num_parallel_calls=3)" in text


def test_what_validates_has_the_arguments_of_what_trains() -> None:
    """Where a worker reads its own share, another call gives all that validates."""
    config = GANG.but(shard_policy="source", arguments=(("padding", 7),))
    text = rendered(
        config,
        dataset=by_import(root_folder="photos"),
        dataset_takes=("input_context", "root_folder", "padding"),
        returned={"beside": True},
    ).train
    [made] = re.findall(r"data = dataset_fn\(.*?\)\n", text, flags=re.DOTALL)
    assert 'root_folder="photos"' in made
    assert "padding=7" in made
    assert "input_context=tf.distribute.InputContext()" in made


def test_tf_data_divides_what_a_factory_with_context_reads() -> None:
    """Unless the policy is `source`, such a factory reads everything in every worker."""
    text = rendered(GANG, dataset_takes=("input_context",)).train
    assert "num_input_pipelines=1, input_pipeline_id=0" in text
    assert "AutoShardPolicy.DATA" in text


def test_factories_of_an_installed_module_need_no_path() -> None:
    assert "add_folder" not in rendered(model=by_import("m"), dataset=by_import("d")).train


def test_two_texts_share_what_is_equal() -> None:
    helper = "AMOUNT = 3\n\n\ndef helper():\n    return AMOUNT\n\n\n"
    model = by_value(f"{helper}def model():\n    return helper()", "model")
    dataset = by_value(f"{helper}def data():\n    return helper() + 1", "data")
    text = rendered(model=model, dataset=dataset).train
    assert text.count("def helper") == text.count("AMOUNT = 3") == 1
    assert (run(text).model_fn(), run(text).dataset_fn()) == (3, 4)


def test_names_that_clash_are_kept_apart() -> None:
    model = by_value("k = 1\n\n\ndef make():\n    return k", "make")
    dataset = by_value("k = 2\n\n\ndef make():\n    return k", "make")
    head = run(rendered(model=model, dataset=dataset).train)
    assert (head.model_fn(), head.dataset_fn()) == (1, 2)


NAMES_OF_THE_PROGRAM = (
    *("check_same_software", "callbacks_of", "math", "fit", "parse_arguments", "main"),
    *("make_dataset", "GLOBAL_BATCH", "BATCH_SIZE", "tf"),
)


@pytest.mark.parametrize("configuration", [ONE, GANG, SERVED], ids=["alone", "workers", "servers"])
def test_no_helper_takes_a_name_that_the_program_looks_up(configuration: Configuration) -> None:
    """Neither its functions and imports, nor the builtins that it calls."""
    helpers = [f"def {name}():\n    return {name!r}" for name in NAMES_OF_THE_PROGRAM]
    made = "".join(f"{name}(), " for name in NAMES_OF_THE_PROGRAM)
    helpers.append(f"def make():\n    return [{made}]")
    text = rendered(configuration, model=by_value("\n\n\n".join(helpers), "make")).train
    assert run(text).model_fn() == [*NAMES_OF_THE_PROGRAM]
    plain = rendered(configuration, model=by_value("def own():\n    return 1", "own")).train
    assert _bindings(plain) - {"own", "model_fn = own"} == _bindings(text) - {
        "scope_of_model_fn",
        "model_fn = scope_of_model_fn()",
    }


def _bindings(text: str) -> set[str]:
    """Return what each top-level statement binds, with the statement where it is the program's."""
    body = ast.parse(text).body
    kinds = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assign)
    bound = [each for each in body if isinstance(each, kinds)]
    return {each.name if isinstance(each, ast.FunctionDef) else ast.unparse(each) for each in bound}


def test_a_lambda_may_call_a_function_named_like_its_role() -> None:
    text = "def model_fn(n):\n    return n"
    assert run(rendered(model=by_value(text, "lambda: model_fn(2)")).train).model_fn() == 2


def test_a_missing_value_ends_the_program_in_words() -> None:
    """Only calling the factory fails, and says what to fill in; also a name of the program's."""
    for missing in ("train", "big"):
        data = by_value(f"def data():\n    return {missing}", "data", missing)
        head = run(rendered(dataset=data).train)
        with pytest.raises(SystemExit, match=f"Fill in {missing}"):
            head.dataset_fn()
    head.big = [1]
    assert head.dataset_fn() == [1]


def test_a_factory_without_text_ends_the_program_in_words() -> None:
    """Where Python could not find the source at all, a stub says so."""
    nameless = Factory(name="<lambda>", source=Source(text="", expression="", missing=("f",)))
    with pytest.raises(SystemExit, match="Fill in model_fn"):
        run(rendered(model=nameless).train).model_fn()


@pytest.mark.parametrize(
    ("text", "expression"),
    [("import helpers", "lambda: helpers.f()"), ("import helpers\n\n\ndef main(): ...", "main")],
)
def test_imports_of_a_text_may_need_a_folder(text: str, expression: str) -> None:
    source = Source(text=text, expression=expression, roots=(("helpers", "lib"),))
    program = rendered(model=Factory(name=expression, source=source)).train
    assert 'add_folder(__file__, "lib", "helpers")' in program


def functions_of(text: str) -> dict[str, Any]:
    """Return what says how long an epoch is, out of a program, with the numbers that it needs."""
    names: dict[str, Any] = {}
    for each in ast.parse(text).body:
        number = isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        if number or getattr(each, "name", "") == "examples_of":
            exec(compile(ast.Module([each], []), "<program>", "exec"), names)  # noqa: S102 - our own text
    return names


@pytest.mark.parametrize(
    ("examples", "batch", "steps"), [(64, 8, 8), (63 * 128, 128, 63), (65, 8, 9), (3, 8, 1)]
)
@pytest.mark.parametrize("per_call", [1, 32])
def test_an_epoch_has_the_steps_of_fit(
    examples: int, batch: int, steps: int, per_call: int
) -> None:
    """However many of them run in a call, and with the last batch."""
    one = Configuration(per_replica_batch=batch, steps_per_execution=per_call)
    names = functions_of(text := rendered(one, examples=examples).train)
    found = re.search(r"steps=(.+)\)\n", text)
    assert math.ceil(eval(found[1], names)) == steps  # noqa: S307 - our own text


@pytest.mark.parametrize(
    ("data", "asked", "first", "again"),
    [
        (FitData.ARRAYS, None, 80, 30),
        (FitData.ARRAYS, 5, 40, 30),
        (FitData.ARRAYS, 200, 80, 30),
        (FitData.PY_DATASET, None, 64, 24),
        (FitData.GENERATOR, None, 64, 64),
    ],
)
def test_an_epoch_is_that_of_the_call(
    data: FitData, asked: int | None, first: int, again: int
) -> None:
    """It ends with the data; a function that calls fit may be given less the second time."""
    facts = WorkloadFacts(examples=64, usual_batch=8, fit=FitFacts(data=data))
    text = render(ONE, script_workload(Script(path="mine.py")), facts, CPUS).train
    given = {"steps_per_epoch": asked, "batch_size": 8}
    calls = [
        SimpleNamespace(training_rows=lambda rows=rows: rows, x=[0] * batches, **given)
        for rows, batches in ((80, 8), (30, 3))
    ]
    names = functions_of(text)
    names["script"] = SimpleNamespace(calls=calls)
    assert [names["examples_of"](each) for each in calls] == [first, again]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (WorkloadFacts(examples=63 * 32), None),
        (WorkloadFacts(), "1,000 steps an epoch, because the number of examples is not known"),
        (WorkloadFacts(examples=6000), "188 steps an epoch, the last of which takes 16 examples"),
        (
            WorkloadFacts(examples=6016, count=Count.AT_MOST),
            "188 steps an epoch of at most 6,016 examples, all with full batches",
        ),
        (
            WorkloadFacts(examples=6000, usual_batch=32, fit=FitFacts(batches=190)),
            "190 steps an epoch, as the script makes",
        ),
        (
            WorkloadFacts(examples=6000, usual_batch=64, fit=FitFacts(batches=190)),
            "188 steps an epoch, the last of which",
        ),
    ],
)
def test_an_epoch_unlike_that_of_fit_is_told(facts: WorkloadFacts, told: str | None) -> None:
    """Of a batch that is filled up, and of numbers that nobody knows; however long a call is."""
    words = epoch_in_words(ONE.but(steps_per_execution=32), facts)
    assert words is None if told is None else told in str(words)


def test_imports_are_merged_and_sorted() -> None:
    found = imports_in(
        "import keras, tensorflow as tf\nfrom __future__ import annotations\n"
        "from collections.abc import Sequence, Callable\nfrom mine import make as model_fn\n"
        "from mine import model_fn"
    )
    assert sections(found) == (
        "from __future__ import annotations\n\n"
        "from collections.abc import Callable, Sequence\n\n"
        "import keras\nimport tensorflow as tf\n"
        "from mine import make as model_fn\nfrom mine import model_fn"
    )


@pytest.mark.parametrize(
    ("fit", "default", "told"),
    [
        (None, "epochs=7", ""),
        (FitFacts(line=4, epochs=3, data=FitData.ARRAYS), "epochs=7", "It makes 7 epochs, as was"),
        (FitFacts(line=4, epochs=3, data=FitData.ARRAYS, loop=3), "verbose=None", "3 epochs, as"),
    ],
)
def test_the_epochs_that_were_asked_for_are_the_programs(
    fit: FitFacts | None, default: str, told: str
) -> None:
    """But for each turn of a loop, which has its own."""
    mine = by_import()
    workload = script_workload(Script(path="m.py")) if fit else Workload(model=mine, dataset=mine)
    asked = workload.model_copy(update={"epochs": 7})
    text = render(ONE, asked, WorkloadFacts(examples=64, fit=fit), CPUS).train
    assert f"__doc__, {default}" in text
    assert told in text
