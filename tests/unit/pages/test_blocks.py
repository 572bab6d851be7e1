"""Every block of code in the pages is run or checked; none is passed over in silence."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sybil import Example
from sybil.evaluators.python import PythonEvaluator

from autotune.api.settings import load_settings
from autotune.doctor.rules import choose
from autotune.project import settings_of
from autotune.result import load_configuration
from autotune.space import parse_space
from tools.docs.blocks import CHECKED, OUTPUT, PAGES, document, languages, mark, needs_tensorflow
from tools.docs.pages import ROOT

from .calls import service
from .console import PROMPT, Console, commands

GROUPS = {f"autotune.{each}" for each in ("engines", "rules", "strategies", "workloads")}
"""Of the entry points that packages may declare."""
EACH_PAGE = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@EACH_PAGE
def test_every_block_is_seen_with_what_it_is(path: Path) -> None:
    """By two readers of Markdown; one without a language, or indented, is checked by nobody.

    Commands stand in console blocks, where they are checked.
    """

    def look(example: Example) -> None:
        assert not list(commands(example.parsed))

    found = dict(languages(path))
    assert {*found.values()} <= {*CHECKED, *OUTPUT}, found
    seen = document(path, dict.fromkeys((*CHECKED, *OUTPUT), look)).examples()
    assert [each.line for each in seen] == [*found]
    for each in document(path, dict.fromkeys(OUTPUT, look)).examples():
        each.evaluate()


@pytest.mark.usefixtures("engine", "folder")
@EACH_PAGE
def test_python_runs(path: Path) -> None:
    """All blocks of a page, one after the other; what needs TensorFlow runs elsewhere."""
    compiled_only = needs_tensorflow(path)
    run = PythonEvaluator()

    def evaluate(example: Example) -> None:
        if compiled_only or mark(example, "parsed only"):
            compile(example.parsed, str(path), "exec")
        else:
            run(example)

    page = document(path, {"python": evaluate})
    exec("def model_fn(): ...\ndef dataset_fn(): ...\n", page.namespace)  # noqa: S102 - as in a cell
    for each in page.examples():
        each.evaluate()


@pytest.fixture
def console(tmp_path: Path, folder: Path, engine: None) -> Iterator[Console]:
    del folder, engine
    with service(tmp_path / "service") as answering:
        yield Console(answering)


@EACH_PAGE
def test_commands_run(path: Path, console: Console) -> None:
    """They are called as they stand, on an engine that needs no machine."""

    def evaluate(example: Example) -> None:
        assert example.parsed.startswith(PROMPT)
        if mark(example, "not run") is None:
            for command in commands(example.parsed):
                console.run(command)

    for each in document(path, {"console": evaluate}).examples():
        each.evaluate()


@pytest.mark.parametrize(
    "command",
    [
        "autotune tune my.py:model_fn my.py:dataset_fn --bugdet 3min",
        """curl --json '{"workload": "nothing"}' http://127.0.0.1:8321/v1/tunings""",
        "make nothing",
        "pip install '.[nothing]'",
        "python autotune-out/train.py",
        "unheard-of --option",
    ],
)
def test_a_command_that_is_wrong_is_found(command: str, console: Console) -> None:
    with pytest.raises(AssertionError):
        console.run(command)


@EACH_PAGE
def test_data_is_valid(path: Path, tmp_path: Path) -> None:
    """Spaces, saved configurations and settings fit their schemas; entry points have a group."""

    def yaml_block(example: Example) -> None:
        data = yaml.safe_load(example.parsed)
        if "configuration" in data:
            file = tmp_path / "config.yaml"
            file.write_text(example.parsed)
            load_configuration(file)
        else:
            parse_space(data, where=path.name)

    def toml_block(example: Example) -> None:
        data = tomllib.loads(example.parsed)
        project = data.get("project")
        if "tool" in data:
            (tmp_path / "pyproject.toml").write_text(example.parsed)
            choose((settings := settings_of(tmp_path)).select, settings.ignore)
            return
        if project is not None:
            assert {*project} == {"entry-points"}
            assert {*project["entry-points"]} <= {*GROUPS}
            return
        file = tmp_path / "service.toml"
        file.write_text(example.parsed)
        load_settings(file)

    def json_block(example: Example) -> None:
        json.loads(example.parsed)

    readers = {"yaml": yaml_block, "toml": toml_block, "json": json_block}
    for each in document(path, readers).examples():
        each.evaluate()
