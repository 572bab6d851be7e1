"""Whether two workloads are the same one."""

import json
from pathlib import Path

import pytest

from autotune.workload import (
    Cacheable,
    Factory,
    InputPass,
    Workload,
    factory_from_text,
    is_script,
    script_from_text,
    script_workload,
)
from autotune.workload.source import Source
from tests.engines.fake import FAKE_FACTS

BUSY = {
    "examples": None,
    "file_shards": 6,
    "example_bytes": 7,
    "repeatable": False,
    "shuffle_buffer": 9,
    "handed": (Cacheable(),),
    "usual_batch": 31,
    "dense_gradient_bytes": 3,
    "calling_seconds": 8.5,
    "first_step_seconds": 7.5,
    "own_step_seconds": 0.5,
    "between_seconds": 1.5,
    "first_pass": InputPass(examples=9, seconds=2.0, whole=False, pause=0.0),
    "uncertain": ("examples", "file_shards"),
}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.py"
    path.write_text("def make(): model.fit(x)")
    return path


def fingerprint(factory: Factory, callbacks: Factory | None = None) -> str:
    workload = Workload(model=factory, dataset=factory, callbacks=callbacks)
    return workload.fingerprint(FAKE_FACTS)


@pytest.mark.parametrize("inside", ["package/__init__.py", "package/part.py"])
def test_code_in_a_package_counts(code: Path, inside: str) -> None:
    path = code.parent / inside
    path.parent.mkdir()
    path.write_text("one")
    module = inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    factory = factory_from_text(f"{module}:make")
    before = fingerprint(factory)
    path.write_text("other")
    assert fingerprint(factory) != before


def test_code_that_a_lambda_imports_counts(code: Path) -> None:
    source = Source(text="import file", expression="lambda: file.make()", roots=(("file", "."),))
    factory = Factory(name="<lambda>", source=source)
    before = fingerprint(factory)
    code.write_text("def make(): return 1")
    assert fingerprint(factory) != before


def test_callbacks_count() -> None:
    model, callbacks = factory_from_text("json:loads"), factory_from_text("json:dumps")
    assert len({fingerprint(model), fingerprint(model, callbacks), fingerprint(callbacks)}) == 3


@pytest.mark.parametrize("edit", ["# why\n{}", "{}  # todo", "\n\n{}\n"])
@pytest.mark.parametrize("name", ["file.py:make", "file.py"])
def test_a_comment_is_no_other_workload(code: Path, edit: str, name: str) -> None:
    before = _workload(name)
    code.write_text(edit.format(code.read_text()))
    assert _workload(name) == before
    code.write_text("def make(): model.fit(y)")
    assert _workload(name) != before


def _workload(name: str) -> str:
    if is_script(name):
        return script_workload(script_from_text(name)).fingerprint(FAKE_FACTS)
    return fingerprint(factory_from_text(name))


def test_which_fit_is_meant_counts_but_not_its_line(code: Path) -> None:
    def identities() -> list[str]:
        chosen = (1, 2, "one", "two")
        return [script_from_text("file.py", fit=each).identity for each in chosen]

    code.write_text("one.fit(x)\ntwo.fit(x)\n")
    before = identities()
    assert script_from_text("file.py", ["--deep"]).identity not in before
    code.write_text("# a comment\none.fit(x)\ntwo.fit(x)\n")
    assert identities() == before
    assert len({*before}) == 4


def test_a_script_is_the_same_in_every_folder(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Called by another path, from another working folder, or moved with its project."""
    before = script_from_text("file.py").identity
    assert script_from_text(str(code)).identity == before
    moved = code.parent / "project"
    moved.mkdir()
    code.rename(moved / code.name)
    assert script_from_text("project/file.py").identity == before
    monkeypatch.chdir(moved)
    assert script_from_text("file.py").identity == before


def test_what_a_notebook_printed_does_not_count(code: Path) -> None:
    cell = {"cell_type": "code", "source": ["model.fit(x)"], "outputs": [], "execution_count": 1}
    notebook = code.with_suffix(".ipynb")
    notebook.write_text(json.dumps({"cells": [cell]}))
    before = script_from_text("file.ipynb").identity
    again = {**cell, "outputs": [{"text": "loss: 0.1"}], "execution_count": 2}
    notebook.write_text(json.dumps({"cells": [again, {"cell_type": "markdown", "source": []}]}))
    assert script_from_text("file.ipynb").identity == before


def test_what_a_busy_machine_varies_does_not_count(code: Path) -> None:
    """Counts, times and samples differ between inspections; another element is other data."""
    factory = factory_from_text(f"{code.name}:make")
    workload = Workload(model=factory, dataset=factory)
    others = FAKE_FACTS.model_copy(update={"element": "TensorSpec(shape=(9,))"})
    assert workload.fingerprint(FAKE_FACTS) != workload.fingerprint(others)
    assert not [name for name in BUSY if getattr(FAKE_FACTS, name) == BUSY[name]]
    busy = FAKE_FACTS.model_copy(update=BUSY)
    assert workload.fingerprint(FAKE_FACTS) == workload.fingerprint(busy)
