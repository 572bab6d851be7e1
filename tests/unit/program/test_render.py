"""What rendering decides, apart from the text of whole programs."""

from __future__ import annotations

import ast
import math
from types import ModuleType, SimpleNamespace

import pytest

from autotune.config import Configuration
from autotune.errors import ConfigurationError
from autotune.machine import Host, Machine
from autotune.program import Program, render
from autotune.value import Scalar
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

MACHINE = Machine(hosts=(Host(cpus=8, memory=2**34, processor="x"),))
ONE = Configuration()
GANG = Configuration(strategy="multi_worker_mirrored", workers=2, shard_policy="data")

SERVED = Configuration(strategy="parameter_server", workers=2, servers=1, shard_policy="data")


def by_import(name: str = "f", root: str | None = None, **arguments: Scalar) -> Factory:
    """Return a factory of a module of the user's."""
    return Factory(name=name, module="mine", root=root, arguments=tuple(arguments.items()))


def by_value(text: str, expression: str, *missing: str) -> Factory:
    """Return a factory that is shipped with its text."""
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
    return render(configuration or Configuration(), workload, known, MACHINE)


def run(text: str) -> ModuleType:
    """Execute the part of a program that comes before its strategy, without its imports."""
    head = text.partition("def make_strategy")[0]
    lines = [line for line in head.splitlines() if not line.startswith(("import ", "from "))]
    module = ModuleType("head")
    exec("\n".join(["from __future__ import annotations", *lines]), vars(module))  # noqa: S102 - our own text
    return module


def test_only_gangs_have_a_launcher() -> None:
    """A training of one process needs no launcher."""
    assert rendered().launch is None
    assert 'PROCESSES = {"worker": 2}' in (rendered(GANG).launch or "")


def test_an_argument_goes_to_the_factory_that_declares_it() -> None:
    """Axes of the user's own reach the one factory, the other, or both."""
    values = (("both", 1), ("data", 2), ("model", 3))
    text = rendered(
        Configuration(arguments=values),
        model_takes=("model", "both"),
        dataset_takes=("data", "both"),
    ).train
    assert "model_fn(both=1, model=3)" in text
    assert "dataset_fn(both=1, data=2)" in text


def test_an_argument_that_nobody_declares_is_an_error() -> None:
    """The error names the parameter and those that exist."""
    with pytest.raises(ConfigurationError, match=r"'unit'.*Declared are: units"):
        rendered(Configuration(arguments=(("unit", 1),)), model_takes=("units",))


def test_a_fixed_argument_replaces_what_the_tuner_would_pass() -> None:
    """`--dataset-arg num_parallel_calls=3` fixes it."""
    takes = ("num_parallel_calls",)
    text = rendered(dataset=by_import(num_parallel_calls=3), dataset_takes=takes).train
    assert "dataset_fn(num_parallel_calls=3)" in text


def test_tf_data_divides_what_a_factory_with_context_reads() -> None:
    """Unless the policy is `source`, such a factory reads everything in every worker."""
    text = rendered(GANG, dataset_takes=("input_context",)).train
    assert "num_input_pipelines=1, input_pipeline_id=0" in text
    assert "AutoShardPolicy.DATA" in text


def test_a_worker_with_its_own_share_makes_batches_for_one_replica() -> None:
    """At the source the batch is that of a replica, not of all of them."""
    takes = ("input_context", "batch_size")
    text = rendered(GANG.but(shard_policy="source"), dataset_takes=takes).train
    assert "dataset_fn(input_context=input_context, batch_size=PER_REPLICA_BATCH)" in text
    assert "distribute_datasets_from_function(make_dataset)" in text


def test_factories_of_an_installed_module_need_no_path() -> None:
    """Only a folder of the user's is put on the path."""
    assert "sys.path" not in rendered(model=by_import("m"), dataset=by_import("d")).train


def test_two_texts_share_what_is_equal() -> None:
    """A helper that both factories need is written once."""
    helper = "SIZE = 3\n\n\ndef helper():\n    return SIZE\n\n\n"
    model = by_value(f"{helper}def model():\n    return helper()", "model")
    dataset = by_value(f"{helper}def data():\n    return helper() + 1", "data")
    text = rendered(model=model, dataset=dataset).train
    assert text.count("def helper") == text.count("SIZE = 3") == 1
    assert (run(text).model_fn(), run(text).dataset_fn()) == (3, 4)


def test_names_that_clash_are_kept_apart() -> None:
    """Closures with different values under one name both keep their own."""
    model = by_value("k = 1\n\n\ndef make():\n    return k", "make")
    dataset = by_value("k = 2\n\n\ndef make():\n    return k", "make")
    head = run(rendered(model=model, dataset=dataset).train)
    assert (head.model_fn(), head.dataset_fn()) == (1, 2)


def test_the_program_keeps_its_own_names() -> None:
    """A user's `train` does not replace the program's."""
    model = by_value("def train():\n    return 1\n\n\ndef make():\n    return train()", "make")
    head = run(rendered(GANG, model=model).train)
    assert head.model_fn() == 1
    assert not hasattr(head, "train")


NAMES_OF_THE_PROGRAM = (
    *("software", "check_same_software", "platform", "hashlib", "Path", "folder_of", "main"),
    *("max", "enumerate", "make_dataset", "GLOBAL_BATCH", "tf"),
)


@pytest.mark.parametrize(
    "configuration", [Configuration(), GANG, SERVED], ids=["alone", "workers", "servers"]
)
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


def test_a_helper_beside_a_clash_brings_its_folder() -> None:
    """Also what is kept apart may import a module that is not installed."""
    source = Source(
        text="import helpers\n\n\ndef main():\n    return helpers.f()",
        expression="main",
        roots=(("helpers", "lib"),),
    )
    text = rendered(model=Factory(name="main", source=source)).train
    assert 'sys.path.insert(0, folder_of("lib", "helpers"))' in text


def _bindings(text: str) -> set[str]:
    """Return what each top-level statement binds, with the statement where it is the program's."""
    body = ast.parse(text).body
    kinds = (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Assign)
    bound = [each for each in body if isinstance(each, kinds)]
    return {each.name if isinstance(each, ast.FunctionDef) else ast.unparse(each) for each in bound}


def test_a_lambda_may_call_a_function_named_like_its_role() -> None:
    """The role's name is not overwritten by itself."""
    text = "def model_fn(n):\n    return n"
    assert run(rendered(model=by_value(text, "lambda: model_fn(2)")).train).model_fn() == 2


def test_a_missing_value_ends_the_program_in_words() -> None:
    """Only calling the factory fails, and it says what to fill in."""
    head = run(rendered(dataset=by_value("def data():\n    return big", "data", "big")).train)
    with pytest.raises(SystemExit, match="Fill in big"):
        head.dataset_fn()
    head.big = [1]
    assert head.dataset_fn() == [1]


def test_a_missing_value_may_have_a_name_of_the_program() -> None:
    """A missing `train` is asked for in a scope of its own."""
    head = run(rendered(dataset=by_value("def data():\n    return train", "data", "train")).train)
    with pytest.raises(SystemExit, match="Fill in train"):
        head.dataset_fn()


def test_a_factory_without_text_ends_the_program_in_words() -> None:
    """Where Python could not find the source at all, a stub says so."""
    nameless = Factory(name="<lambda>", source=Source(text="", expression="", missing=("f",)))
    with pytest.raises(SystemExit, match="Fill in model_fn"):
        run(rendered(model=nameless).train).model_fn()


def test_imports_of_a_text_may_need_a_folder() -> None:
    """A module beside the notebook is imported once its folder is on the path."""
    source = Source(
        text="import helpers", expression="lambda: helpers.f()", roots=(("helpers", "."),)
    )
    text = rendered(model=Factory(name="<lambda>", source=source)).train
    assert 'sys.path.insert(0, folder_of(".", "helpers"))\n\nimport helpers\n' in text


def test_long_arguments_are_broken_as_the_formatter_does() -> None:
    """A call that is too long has one argument per line."""
    names = {f"a_rather_long_parameter_{n}": "a rather long value" for n in range(3)}
    text = rendered(model=by_import(**names)).train
    assert '        model = model_fn(\n            a_rather_long_parameter_0="' in text
    assert max(len(line) for line in text.splitlines()) <= 100


@pytest.mark.parametrize(
    ("examples", "batch", "steps"), [(64, 8, 8), (63 * 128, 128, 63), (65, 8, 9), (3, 8, 1)]
)
@pytest.mark.parametrize("per_call", [1, 32])
def test_an_epoch_has_the_steps_of_fit(
    examples: int, batch: int, steps: int, per_call: int
) -> None:
    """However many of them run in a call, and with the last batch."""
    one = Configuration(per_replica_batch=batch, steps_per_execution=per_call)
    program = function_of(rendered(one, examples=examples).train)
    assert program["steps_of_an_epoch"]() == steps  # type: ignore[operator] # a function


@pytest.mark.parametrize(("asked", "examples"), [(None, 80), (5, 40), (200, 80)])
def test_an_epoch_ends_with_the_data(asked: int | None, examples: int) -> None:
    """A script may ask for more steps than its arrays have."""
    facts = WorkloadFacts(examples=64, usual_batch=8, fit=FitFacts(data=FitData.ARRAYS))
    text = render(ONE, script_workload(Script(path="mine.py")), facts, MACHINE).train
    call = SimpleNamespace(training_rows=lambda: 80, steps_per_epoch=asked, batch_size=8)
    assert function_of(text)["examples_of"](call) == examples  # type: ignore[operator] # as above


def function_of(text: str) -> dict[str, object]:
    """Return the numbers and what says how long an epoch is, out of a program."""
    wanted = ("examples_of", "steps_of_an_epoch")
    names = {"math": math, "Call": object}
    for each in ast.parse(text).body:
        number = isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
        if number or getattr(each, "name", "") in wanted:
            exec(compile(ast.Module([each], []), "<program>", "exec"), names)  # noqa: S102 - our own text
    return names


@pytest.mark.parametrize(
    ("data", "first", "again"),
    [(FitData.ARRAYS, 80, 30), (FitData.PY_DATASET, 64, 24), (FitData.GENERATOR, 64, 64)],
)
def test_an_epoch_is_that_of_the_call(data: FitData, first: int, again: int) -> None:
    """A function that calls fit may be given less data the second time."""
    facts = WorkloadFacts(examples=64, usual_batch=8, fit=FitFacts(data=data))
    workload = script_workload(Script(path="mine.py"))
    tree = ast.parse(render(ONE, workload, facts, MACHINE).train)
    named = [each for each in tree.body if getattr(each, "name", "") == "examples_of"]
    calls = [
        SimpleNamespace(training_rows=lambda rows=rows: rows, x=[0] * batches, steps_per_epoch=None)
        for rows, batches in ((80, 8), (30, 3))
    ]
    program = {"calls": calls, "EXAMPLES": 64, "Call": object}
    exec(compile(ast.Module(named, []), "<program>", "exec"), program)  # noqa: S102 - our own text
    assert [program["examples_of"](each) for each in calls] == [first, again]  # type: ignore[operator] # a function
