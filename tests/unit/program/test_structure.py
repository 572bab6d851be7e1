"""No value that a file or a request holds can change what a program does."""

import ast
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from autotune.base import Scalar
from autotune.config import Configuration, accepts, axes
from autotune.errors import ConfigurationError
from autotune.program import Program, cluster_files, render
from autotune.workload import Factory, Script, Workload, WorkloadFacts, script_workload
from autotune.workload.source import Source
from tests.golden import CPUS, MIRRORED, SERVED, TPU, TWO_WORKERS

ATTACK = '""";import os;os.system(*["id>PWN"]);"""'
CONFIGURATIONS = {
    "one_device": Configuration(),
    "mirrored_fit": MIRRORED.but(reduction="hierarchical"),
    "mirrored_loop": MIRRORED.but(steps_per_execution=2),
    "workers": TWO_WORKERS.but(shard_policy="data"),
    "sources": TWO_WORKERS.but(shard_policy="source"),
    "servers": SERVED,
    "tpu": Configuration(strategy="tpu", replicas_per_worker=8),
}
"""One of every kind of program."""
FACTS = WorkloadFacts(
    examples=64, model_takes=("title", "fixed"), dataset_takes=("input_context", "title")
)

nasty = st.text(st.sampled_from("'\"\\#{}%\n\r\0;() a\u2028\x85"), max_size=12)
texts = st.one_of(st.text(max_size=30), nasty, st.just(ATTACK))
values = st.one_of(texts, st.integers(-(10**9), 10**9), st.booleans(), st.floats())


def rendered(name: str, value: Scalar, folder: str) -> Program:
    arguments = (("fixed", value),)
    source = Source(text="import helpers", expression="helpers.f", roots=(("helpers", folder),))
    workload = Workload(
        model=Factory(name="make", module="mine", root=folder, arguments=arguments),
        dataset=Factory(name="<lambda>", source=source, arguments=arguments),
        callbacks=Factory(name="watch", module="mine", root=folder, arguments=arguments),
    )
    configuration = CONFIGURATIONS[name].but(arguments=(("title", value),))
    return render(configuration, workload, FACTS, TPU)


def call_of(name: str, text: str) -> ast.Call:
    calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
    [found] = [each for each in calls if ast.unparse(each.func) == name]
    return found


def given_to(name: str, text: str) -> dict[str, Any]:
    """Return the keyword arguments of the one call of a function, whose values are literals."""
    keywords = call_of(name, text).keywords
    return {each.arg: value_of(each.value) for each in keywords if each.arg}


def value_of(node: ast.expr) -> Any:
    return eval(ast.unparse(node), {"float": float, "input_context": None})  # noqa: S307 - ours


def outline(text: str | None) -> list[str]:
    """Return the kinds of all nodes of a program, in their order, whatever its texts are."""
    return [type(node).__name__ for node in ast.walk(ast.parse(text or ""))]


@pytest.mark.parametrize("name", CONFIGURATIONS)
@settings(max_examples=25, deadline=None)
@example(value=ATTACK, folder="here")
@given(value=values, folder=texts)
def test_a_value_reaches_the_factories_and_nothing_else(
    name: str, value: Scalar, folder: str
) -> None:
    program = rendered(name, value, folder)
    for role in ("model_fn", "dataset_fn"):
        assert repr(given_to(role, program.train)["title"]) == repr(value)
    for role in ("model_fn", "dataset_fn", "callbacks_fn"):
        assert repr(given_to(role, program.train)["fixed"]) == repr(value)
    if isinstance(value, str):
        plain = rendered(name, "plain", "here")
        assert outline(program.train) == outline(plain.train)
        assert outline(program.launch) == outline(plain.launch)


@settings(max_examples=50, deadline=None)
@given(path=texts, argument=texts)
def test_a_script_is_found_and_called_by_texts(path: str, argument: str) -> None:
    """Its path and what stands behind it on its command line."""

    def program(path: str, argument: str) -> str:
        workload = script_workload(Script(path=path, arguments=(argument,)))
        return render(Configuration(), workload, FACTS, CPUS).train

    text = program(path, argument)
    assert outline(text) == outline(program("plain.py", "plain"))
    made = call_of("Script", text).args[1:]
    assert [ast.literal_eval(each) for each in made] == [path, [argument]]


def test_the_text_of_an_axis_is_one_of_a_few() -> None:
    """But for the strategy, which is looked up by its name."""
    assert [name for name in axes() if accepts(name, ATTACK) is None] == ["strategy"]


@pytest.mark.parametrize("odd", ['a"b', "a\nb", "a.b; import os", "", "class"])
def test_a_name_that_is_none_is_refused(odd: str) -> None:
    """The names of factories, modules and parameters are no texts, so they are never quoted."""
    good = Factory(name="make", module="mine")
    for bad in (
        Factory(name=odd, module="mine"),
        Factory(name="make", module=odd or " "),
        Factory(name="make", module="mine", arguments=((odd, 1),)),
    ):
        with pytest.raises(ConfigurationError, match="is not the name of a"):
            render(Configuration(), Workload(model=bad, dataset=good), FACTS, CPUS)


@pytest.mark.parametrize("odd", ["2.20\nkind: Secret", "2 # x", "$(id)", "`id`", "é"])
def test_a_version_cannot_add_lines_to_a_cluster_file(odd: str) -> None:
    """A saved configuration may hold any text as the version of TensorFlow."""
    machine = CPUS.model_copy(update={"tensorflow": odd})
    with pytest.raises(ConfigurationError, match="version of TensorFlow"):
        cluster_files(CONFIGURATIONS["workers"], machine)


def test_a_function_of_any_name_leaves_a_whole_program() -> None:
    """The text of a function that Python cannot place is its repr."""
    odd = Source(text="", expression="", missing=('partial(f, """)',))
    workload = Workload(
        model=Factory(name="x", source=odd), dataset=Factory(name="d", module="mine")
    )
    assert '"""Fill in:' in render(Configuration(), workload, FACTS, CPUS).train
