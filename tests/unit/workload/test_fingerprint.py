"""Whether two workloads are the same one."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.testing import FAKE_FACTS
from autotune.workload import Factory, Workload, factory_from_text
from autotune.workload.source import Source


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with factories, in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.py"
    path.write_text("def make(): ...")
    return path


def fingerprint(factory: Factory, callbacks: Factory | None = None) -> str:
    workload = Workload(model=factory, dataset=factory, callbacks=callbacks)
    return workload.fingerprint(FAKE_FACTS)


def test_edited_code_is_another_workload(code: Path) -> None:
    """Even where the model has as many weights as before."""
    factory = factory_from_text("file.py:make")
    before = fingerprint(factory)
    assert fingerprint(factory_from_text("file:make")) == before
    code.write_text("def make(): return 1")
    assert fingerprint(factory) != before


@pytest.mark.parametrize("inside", ["package/__init__.py", "package/part.py"])
def test_code_in_a_package_counts(code: Path, inside: str) -> None:
    """The file is the one that an import would read."""
    path = code.parent / inside
    path.parent.mkdir()
    path.write_text("one")
    module = inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    factory = factory_from_text(f"{module}:make")
    before = fingerprint(factory)
    path.write_text("other")
    assert fingerprint(factory) != before


def test_code_that_a_lambda_imports_counts(code: Path) -> None:
    """A function by value may only hand on to a module."""
    source = Source(text="import file", expression="lambda: file.make()", roots=(("file", "."),))
    factory = Factory(name="<lambda>", source=source)
    before = fingerprint(factory)
    code.write_text("def make(): return 1")
    assert fingerprint(factory) != before


def test_callbacks_count() -> None:
    """They run at every step, and so change the speed."""
    model, callbacks = factory_from_text("json:loads"), factory_from_text("json:dumps")
    assert len({fingerprint(model), fingerprint(model, callbacks), fingerprint(callbacks)}) == 3


def test_an_installed_module_counts_by_name() -> None:
    """Its file is not looked for, and neither is one that is gone."""
    installed = Factory(name="make", module="json")
    assert fingerprint(installed) == fingerprint(installed)
    gone = Factory(name="make", module="gone", root="nowhere")
    assert fingerprint(gone) == fingerprint(gone)


def test_the_identity_leaves_the_data_out(code: Path) -> None:
    """It tells edited factories from other data."""
    factory = factory_from_text(f"{code.name}:make")
    workload = Workload(model=factory, dataset=factory)
    other = FAKE_FACTS.model_copy(update={"examples": 1})
    assert workload.fingerprint(FAKE_FACTS) != workload.fingerprint(other)
    assert workload.identity == workload.model_copy().identity
