"""`autotune doctor` with files."""

import json
from pathlib import Path

import pytest

from autotune.doctor.rules import rules
from tests.engines.fake import FakeEngine

from .conftest import run

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


def test_a_finding_is_a_line_and_exit_code_one(engine: FakeEngine) -> None:
    """Nothing is measured, and nothing is on stderr."""
    done = run("doctor", "bad.py")
    assert done.exit_code == 1
    assert done.stdout.startswith(f"bad.py:5:5 {NAME} ")
    assert done.stderr == ""
    assert engine.requests == []


def test_nothing_found_is_exit_code_zero(bad: Path) -> None:
    """With the number of files that were checked, and a warning of an unknown rule."""
    bad.write_text("x = 1  # autotune: ignore[nosuch]\n")
    done = run("doctor", "bad.py")
    assert (done.exit_code, done.stdout) == (0, "No findings in 1 file.\n")
    assert "bad.py:1" in done.stderr


@pytest.mark.parametrize("broken", ["nosuch.py", "broken.py"])
def test_a_file_that_cannot_be_checked_is_exit_code_two(folder: Path, broken: str) -> None:
    """The others are checked all the same."""
    (folder / "broken.py").write_text("def f(:\n")
    done = run("doctor", broken, "bad.py")
    assert done.exit_code == 2
    assert broken in done.stderr
    assert NAME in done.stdout
    assert run("doctor", broken).stdout == ""


def test_a_document_stands_alone_on_stdout() -> None:
    """Also where something is told on stderr."""
    done = run("doctor", "bad.py", "nosuch.py", "--output-format", "json")
    assert done.exit_code == 2
    assert NAME in json.dumps(json.loads(done.stdout))
    assert json.loads(run("doctor", "bad.py", "--json").stdout)["findings"]


def test_rules_are_chosen() -> None:
    codes = {
        f"--select shards-off,{NAME}": 1,
        "--select shards-off": 0,
        f"--ignore {NAME}": 0,
        f"--select {NAME} --select shards-off": 1,
        f"--ignore {NAME} --ignore shards-off": 0,
    }
    assert {each: run("doctor", "bad.py", *each.split()).exit_code for each in codes} == codes


def test_findings_may_be_no_failure() -> None:
    """With --exit-zero they are printed all the same; an unread file still fails."""
    done = run("doctor", "bad.py", "--exit-zero")
    assert (done.exit_code, NAME in done.stdout) == (0, True)
    assert run("doctor", "nosuch.py", "--exit-zero").exit_code == 2


OLD = BAD.replace("strategy.run", "strategy.experimental_run_v2")
REMOVED = ("--select", "removed-call")


def test_fix_edits_what_is_mechanical(bad: Path) -> None:
    """The file is written anew, and nothing is left to find."""
    bad.write_bytes(f"# ä\r\n{OLD}".encode())
    done = run("doctor", "bad.py", "--fix", *REMOVED)
    assert done.exit_code == 0
    assert bad.read_bytes().decode() == f"# ä\r\n{BAD}"
    assert "bad.py: 1 edit made." in done.stderr


def test_diff_shows_the_edits_and_makes_none(bad: Path) -> None:
    """Exit code 1 as long as there is something to edit."""
    bad.write_text(OLD)
    done = run("doctor", "bad.py", "--diff", *REMOVED)
    assert done.exit_code == 1
    assert "-    strategy.experimental_run_v2(" in done.stdout
    assert "+    strategy.run(" in done.stdout
    assert bad.read_text() == OLD
    bad.write_text(BAD)
    done = run("doctor", "bad.py", "--diff", *REMOVED)
    assert (done.exit_code, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("table", "options", "code"),
    [
        (f"ignore = ['{NAME}']", (), 0),
        ("select = ['shards-off']", (), 0),
        ("select = ['shards-off']", ("--select", NAME), 1),
        (f"select = ['{NAME}']", (), 1),
        ("exclude = ['bad*']", (), 0),
        ("target-version = '2.15'", (), 1),
        ("ignored = ['x']", (), 2),
        ("ignore = 'x'", (), 2),
        ("target-version = 2.15", (), 2),
        ("ignore = ['nosuch']", (), 2),
        ("=", (), 2),
    ],
)
def test_a_project_has_settings(
    folder: Path, table: str, options: tuple[str, ...], code: int
) -> None:
    """In its pyproject.toml; an option replaces its selection, as it does in other linters."""
    (folder / "pyproject.toml").write_text(f"[tool.autotune.doctor]\n{table}\n")
    assert run("doctor", ".", *options).exit_code == code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bad.py", "--select", "run-outside-functions"), f"Did you mean {NAME}?"),
        (("bad.py", "--ignore", "nosuch"), "Available: "),
        (("bad.py", "--select", NAME, "--ignore", NAME), "No rules selected"),
        (("bad.py", "--target-version", "two"), "For example: 2.15"),
        (("bad.py", "--seconds", "30"), "--seconds"),
        (("bad.py", "--model-arg", "x=1"), "--model-arg"),
        (("--diff",), "Pass files or folders"),
        (("--output-format", "github"), "Pass files or folders"),
        (("--select", NAME), "Pass files or folders"),
        (("--explain", "nosuch"), "Unknown rule"),
    ],
)
def test_a_wrong_call_is_told(engine: FakeEngine, words: tuple[str, ...], said: str) -> None:
    """Before anything is checked or measured."""
    done = run("doctor", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert engine.requests == []


def test_rules_are_listed_and_one_is_explained() -> None:
    """With why, and its examples as they are."""
    listed = run("doctor", "--rules").stdout
    assert all(name in listed for name in rules())
    done = run("doctor", "--explain", NAME)
    assert done.exit_code == 0
    assert rules()[NAME].why[:30] in done.stdout
    first = next(line for line in rules()[NAME].bad[0].splitlines() if line)
    assert f"  {first}" in (each.rstrip() for each in done.stdout.splitlines())
