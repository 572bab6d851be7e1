"""The other commands, and what all of them share."""

import sys
from inspect import signature
from pathlib import Path

import pytest
from rich.console import Console

from autotune.cli import app
from autotune.result.terminal import terminal_report
from autotune.versions import VERSION

from .conftest import run, tune


def test_the_version() -> None:
    assert run("--version").stdout == f"autotune {VERSION}\n"


def test_help_names_every_command_and_exit_code() -> None:
    text = " ".join(run("--help").stdout.split())
    commands = ("tune", "verify", "doctor", "script", "spaces", "machine", "serve", "keys")
    for word in (*commands, "Exit codes", "130"):
        assert word in text


def test_the_help_of_a_search_can_be_read_in_eighty_columns() -> None:
    """In groups, by what an option does first; the page of the commands has the rest."""
    lines = run("tune", "--help").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 100
    assert {"Search:", "Results:", "Bounds:", "Options:"} <= set(lines)
    assert any(line.split()[:2] == ["--budget", "DURATION"] for line in lines)


def test_every_command_that_tells_something_tells_it_as_json() -> None:
    """The others print a program, a file's name, a sentence, YAML, or nothing."""
    silent = {"run", "script", "report", "spaces", "serve", "database"}
    silent |= {"revoke", "drain", "resume"}
    groups = {each.name: each.typer_instance for each in app.registered_groups}
    found = {
        each.callback.__name__: "json" in signature(each.callback).parameters
        for each in [
            *app.registered_commands,
            *(c for name in ("keys", "workers") for c in groups[name].registered_commands),
        ]
        if each.callback
    }
    assert {name for name, tells in found.items() if not tells} == silent


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("nosuch", "nosuch"),
        ("tune", "For example: autotune tune train.py"),
        ("tune one", "Use: autotune tune MODEL DATASET"),
        ("script", "autotune-out cannot be read"),
        ("script nosuch.yaml", "nosuch.yaml"),
        ("script mine.py", "mine.py"),
    ],
)
def test_a_wrong_call_ends_with_two(words: str, told: str) -> None:
    """Typer's own errors have the exit code and the look of ours."""
    done = run(*words.split())
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert told in done.stderr
    assert done.stdout == ""


def test_script_gives_the_program_that_was_saved(folder: Path) -> None:
    """Byte for byte, and nothing else on stdout; with --out in a file, whose folder must exist."""
    tune()
    program, saved = (folder / "autotune-out/train.py").read_bytes(), "autotune-out/config.yaml"
    for named in ((), ("autotune-out",), (saved,)):
        assert run("script", *named).stdout_bytes == program
    assert run("script", saved, "--out", "again.py").stdout == ""
    assert (folder / "again.py").read_bytes() == program
    done = run("script", saved, "--out", "nowhere/again.py")
    assert (done.exit_code, "nowhere" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("terminal", "kind", "bar"),
    [(True, "xterm", True), (True, "dumb", False), (False, "xterm", False)],
)
def test_the_bar_is_for_terminals_only(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, kind: str, bar: bool
) -> None:
    """A log gets lines alone, even where a CI job forces colours."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert (terminal_report(Console(stderr=True))._bar is not None) is bar
