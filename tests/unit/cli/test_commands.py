"""The other commands, and what all of them share."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from autotune.config import describe
from autotune.installed import VERSION
from autotune.result.following import LiveReport, PlainReport, terminal_report
from autotune.space import ready_made
from autotune.testing import FAKE_MACHINE

from .conftest import Run


def test_the_version(run: Run) -> None:
    """It is the installed one."""
    assert run("--version").stdout == f"autotune {VERSION}\n"


def test_help_names_every_command_and_exit_code(run: Run) -> None:
    """`autotune --help` is enough to go on."""
    text = " ".join(run("--help").stdout.split())
    commands = ("tune", "verify", "doctor", "script", "spaces", "machine", "serve", "keys")
    for word in (*commands, "Exit codes", "130"):
        assert word in text


@pytest.mark.parametrize("words", [(), ("serve",), ("serve", "api"), ("workers", "list")])
def test_help_shows_no_type_of_a_flag(run: Run, words: tuple[str, ...]) -> None:
    assert "bool" not in run(*words, "--help").stdout


@pytest.mark.parametrize("axis", ["workers", "strategy"])
def test_help_quotes_the_declaration_of_an_axis(
    run: Run, monkeypatch: pytest.MonkeyPatch, axis: str
) -> None:
    """What an axis means is said in one place."""
    monkeypatch.setenv("COLUMNS", "300")
    assert describe(axis) in run("tune", "--help").stdout


@pytest.mark.parametrize("words", [("nosuch",), ("tune",), ("tune", "one"), ("script",)])
def test_a_wrong_call_ends_with_two(run: Run, words: tuple[str, ...]) -> None:
    """Typer's own errors have the exit code and the look of ours."""
    done = run(*words)
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")


def test_script_gives_the_program_that_was_saved(tune: Run, run: Run, folder: Path) -> None:
    """Byte for byte, and nothing else on stdout; with --out in a file, whose folder must exist."""
    tune()
    program, saved = (folder / "autotune-out/train.py").read_bytes(), "autotune-out/config.yaml"
    for named in ((), ("autotune-out",), (saved,)):
        assert run("script", *named).stdout_bytes == program
    assert run("script", saved, "--out", "again.py").stdout == ""
    assert (folder / "again.py").read_bytes() == program
    done = run("script", saved, "--out", "nowhere/again.py")
    assert (done.exit_code, "nowhere" in done.stderr) == (2, True)


@pytest.mark.parametrize("path", ["nosuch.yaml", "mine.py"])
def test_script_of_no_configuration(run: Run, path: str) -> None:
    """The message names the file."""
    done = run("script", path)
    assert done.exit_code == 2
    assert path in done.stderr
    assert done.stdout == ""


def test_spaces_are_listed_and_one_is_shown_as_a_file(run: Run) -> None:
    """Its output is a space, and progress is not part of it; a wrong name gets the right ones."""
    assert all(name in run("spaces").stdout for name in ready_made())
    done = run("spaces", "quick")
    assert yaml.safe_load(done.stdout)["name"] == "quick"
    assert "Inspecting the machine" in done.stderr
    done = run("spaces", "nosuch")
    assert (done.exit_code, "multi_worker" in done.stderr) == (2, True)


def test_machine_as_a_table_and_as_json(run: Run) -> None:
    """Both tell what the engine found."""
    assert "8 GiB" in run("machine").stdout
    assert json.loads(run("machine", "--json").stdout) == FAKE_MACHINE.model_dump(mode="json")


@pytest.mark.parametrize(
    ("terminal", "kind", "report"),
    [(True, "xterm", LiveReport), (True, "dumb", PlainReport), (False, "xterm", PlainReport)],
)
def test_the_live_view_is_for_terminals_only(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, kind: str, report: type
) -> None:
    """A log gets lines, even where a CI job forces colours."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(terminal_report(Console(stderr=True)), report)
