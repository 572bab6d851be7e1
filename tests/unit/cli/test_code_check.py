"""`autotune doctor` with files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from autotune.lint.rules import rules
from autotune.testing import FakeEngine

Run = Callable[..., Result]
BAD = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
for batch in batches:
    strategy.run(lambda each: model(each), args=(batch,))
"""
NAME = "run-outside-function"


@pytest.fixture(autouse=True)
def bad(folder: Path) -> Path:
    """A program in whose fifth line a rule finds something."""
    path = folder / "bad.py"
    path.write_text(BAD)
    return path


def test_a_finding_is_a_line_and_exit_code_one(run: Run, engine: FakeEngine) -> None:
    """Nothing is measured, and nothing is on stderr."""
    done = run("doctor", "bad.py")
    assert done.exit_code == 1
    assert done.stdout.startswith(f"bad.py:5:5 {NAME} ")
    assert done.stderr == ""
    assert engine.requests == []


def test_nothing_found_is_exit_code_zero(run: Run) -> None:
    """With the number of files that were checked."""
    done = run("doctor", "mine.py")
    assert (done.exit_code, done.stdout) == (0, "No findings in 1 file.\n")


@pytest.mark.parametrize("broken", ["nosuch.py", "broken.py"])
def test_a_file_that_cannot_be_checked_is_exit_code_two(
    run: Run, folder: Path, broken: str
) -> None:
    """The others are checked all the same."""
    (folder / "broken.py").write_text("def f(:\n")
    done = run("doctor", broken, "bad.py")
    assert done.exit_code == 2
    assert broken in done.stderr
    assert NAME in done.stdout


def test_an_unknown_rule_in_a_comment_is_a_warning(run: Run, bad: Path) -> None:
    """It does not change the exit code."""
    bad.write_text("x = 1  # autotune: ignore[nosuch]\n")
    done = run("doctor", "bad.py")
    assert done.exit_code == 0
    assert "bad.py:1" in done.stderr


@pytest.mark.parametrize("option", ["--json", "--sarif"])
def test_a_document_stands_alone_on_stdout(run: Run, option: str) -> None:
    """Also where something is told on stderr."""
    done = run("doctor", "bad.py", "nosuch.py", option)
    assert done.exit_code == 2
    assert NAME in json.dumps(json.loads(done.stdout))


def test_rules_are_chosen(run: Run) -> None:
    """By --select and --ignore."""
    assert run("doctor", "bad.py", "--select", f"shards-off,{NAME}").exit_code == 1
    assert run("doctor", "bad.py", "--select", "shards-off").exit_code == 0
    assert run("doctor", "bad.py", "--ignore", NAME).exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bad.py", "--select", "run-outside-functions"), f"Did you mean {NAME}?"),
        (("bad.py", "--ignore", "nosuch"), "Available: "),
        (("bad.py", "--select", NAME, "--ignore", NAME), "No rules selected"),
        (("bad.py", "--json", "--sarif"), "cannot be used together"),
        (("bad.py", "--seconds", "30"), "--seconds"),
        (("bad.py", "--model-arg", "x=1"), "--model-arg"),
        (("--sarif",), "needs files"),
        (("--select", NAME), "needs files"),
        (("--explain", "nosuch"), "Unknown rule"),
    ],
)
def test_a_wrong_call_is_told(
    run: Run, engine: FakeEngine, words: tuple[str, ...], said: str
) -> None:
    """Before anything is checked or measured."""
    done = run("doctor", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert engine.requests == []


def test_the_rules_are_listed(run: Run) -> None:
    """Each with its title."""
    done = run("doctor", "--rules")
    assert done.exit_code == 0
    assert all(name in done.stdout for name in rules())


@pytest.mark.parametrize("name", list(rules()))
def test_a_rule_is_explained(run: Run, name: str) -> None:
    """With why, what instead, and its examples as they are."""
    done = run("doctor", "--explain", name)
    assert done.exit_code == 0
    assert rules()[name].why[:30] in done.stdout
    first = next(line for line in rules()[name].bad[0].splitlines() if line)
    assert f"  {first}\n" in "".join(f"{each.rstrip()}\n" for each in done.stdout.splitlines())
