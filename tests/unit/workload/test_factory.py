"""How a factory is named, so that any process can call it."""

import json
import threading
from pathlib import Path

import cloudpickle
import pytest

from autotune.errors import FactoryNotFound
from autotune.workload import Factory, factory_from_callable, factory_from_text


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package").mkdir()
    for name in ("package/__init__.py", "package/deep.py", "file.py", "my-file.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "module", "root"),
    [
        ("package.part:make", "package.part", "."),
        ("file:make", "file", "."),
        ("file.py:make", "file", "."),
        ("package/deep.py:make", "deep", "package"),
        ("json.decoder:make", "json.decoder", None),
    ],
)
def test_a_text_names_a_module_or_a_file(text: str, module: str, root: str | None) -> None:
    """Modules of the working folder and files need a folder on the path, installed ones do not.

    It is relative to the working folder, so that the program can be moved with it.
    """
    assert factory_from_text(text) == Factory(name="make", module=module, root=root)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("make", "is not the name of a factory"),
        (":make", "is not the name of a factory"),
        ("file.py:", "is not the name of a factory"),
        ("none.py:make", "File none.py not found"),
        ("no_such_package.part:make", "No module named 'no_such_package"),
        ("my-file.py:make", "not a valid module name"),
    ],
)
def test_what_names_nothing_is_an_error(text: str, words: str) -> None:
    with pytest.raises(FactoryNotFound, match=words):
        factory_from_text(text)


def test_an_importable_function_is_shipped_by_name() -> None:
    factory = factory_from_callable(json.dumps, {"indent": 2})
    assert factory == Factory(name="dumps", module="json", arguments=(("indent", 2),))


def test_what_cannot_be_pickled_is_an_error() -> None:
    lock = threading.Lock()
    with pytest.raises(FactoryNotFound, match="into a module"):
        factory_from_callable(lambda: lock)


def test_a_lambda_is_shipped_by_value() -> None:
    """With its text, for the program handed over; written as JSON and read again it is the same."""
    factory = factory_from_callable(lambda: 7, {"units": 64, "name": "a"})
    assert cloudpickle.loads(factory.pickled)() == 7
    assert factory.source.expression == "lambda: 7"
    assert Factory.model_validate_json(factory.model_dump_json()) == factory
