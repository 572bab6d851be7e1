"""Runs or checks the commands of a console block."""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

import typer
from typer.testing import CliRunner

from autotune.cli import app
from autotune.library import modules_for
from tools.docs.pages import ROOT

from .calls import Service

PROMPT = "$ "
PARSED = ("serve", "keys")
"""They would run on, or need a service that has run."""
FOUND = 1
"""Exit code of `doctor FILE` where it has found something."""

Check = Callable[[Sequence[str]], None]


class Console:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._variables = service.variables
        self._checks: dict[str, Check] = {
            "autotune": autotune,
            "curl": service.curl,
            "export": self._export,
            "make": make,
            "pip": pip,
            "python": python,
        }

    def run(self, command: str) -> None:
        words = shlex.split(Template(command).safe_substitute(self._variables), comments=True)
        while re.fullmatch(r"[A-Z_]+=.*", words[0]):
            del words[0]
        assert words[0] in self._checks, f"nothing checks {words[0]!r}; mark it `not run: REASON`"
        self._checks[words[0]](words[1:])

    def _export(self, words: Sequence[str]) -> None:
        self._variables |= dict(each.split("=", 1) for each in words)


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a block; a line without a prompt goes on with one, or is output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while lines and _open(command):
            command = command.removesuffix("\\") + "\n" + lines.pop(0)
        yield command


def autotune(words: Sequence[str]) -> None:
    """Run the command line, or only parse it."""
    if words and words[0] in PARSED:
        parse(typer.main.get_command(app), words)
        return
    done = CliRunner().invoke(app, list(words))
    checks_code = words[0] == "doctor" and not all(each.startswith("-") for each in words[1:])
    allowed = {0, FOUND} if checks_code else {0}
    assert done.exit_code in allowed, f"autotune {shlex.join(words)}: {done.output}"


def parse(command: Any, words: Sequence[str]) -> None:
    context = command.make_context(command.name, list(words))
    rest = [*getattr(context, "_protected_args", ()), *context.args]
    if rest:
        name, below, words = command.resolve_command(context, rest)
        assert below is not None, name
        parse(below, words)


def make(words: Sequence[str]) -> None:
    text = (ROOT / "Makefile").read_text()
    for target in (each for each in words if "=" not in each):
        assert re.search(rf"^{target}:", text, re.MULTILINE), f"make has no target {target}"


def pip(words: Sequence[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert words[0] == "install"
    named = re.fullmatch(r"\.(?:\[([a-z,]+)\])?", words[-1])
    assert named, f"{words[-1]} is not this project"
    assert set((named[1] or "").split(",")) - {""} <= set(project["optional-dependencies"])


def python(words: Sequence[str]) -> None:
    path = Path(words[0])
    assert path.is_file(), f"there is no {path}"
    for option in (each for each in words[1:] if each.startswith("--")):
        texts = [path.read_text(), *modules_for(path.read_text()).values()]
        assert any(f'"{option}"' in text for text in texts), f"{path} has no option {option}"


def _open(command: str) -> bool:
    """Whether a command goes on in the next line."""
    try:
        shlex.split(command)
    except ValueError:
        return True
    return command.endswith("\\")
