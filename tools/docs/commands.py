"""The page of the commands, from the command line itself."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from autotune.cli import app
from tools.docs.pages import page, table, wrapped


def pages() -> Mapping[str, str]:
    return {"commands.md": page("autotune/cli/", _lines(), "commands.md")}


def _lines() -> Iterator[str]:
    root = typer.main.get_command(app)
    context = root.make_context("autotune", [], resilient_parsing=True)
    yield from ("# Commands", "", wrapped(root.help or ""), "", wrapped(root.epilog or ""))
    yield from _commands(root, context)


def _commands(group: Any, parent: Any) -> Iterator[str]:
    """Yield each command of a group, and those below it."""
    for name, command in group.commands.items():
        context = type(parent)(command, info_name=name, parent=parent)
        yield from _section(command, context)
        if hasattr(command, "commands"):
            yield from _commands(command, context)


def _section(command: Any, context: Any) -> Iterator[str]:
    yield from ("", f"## {context.command_path}", "")
    yield from _paragraphs(command.help)
    rows = [_row(each, context) for each in command.get_params(context) if _shown(each, context)]
    if rows:
        yield from ("", *table(("argument or option", "meaning"), rows))
    if command.epilog:
        yield from ("", wrapped(command.epilog))


def _paragraphs(text: str | None) -> Iterator[str]:
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    yield from "\n\n".join(wrapped(each) for each in paragraphs).splitlines()


def _shown(parameter: Any, context: Any) -> bool:
    return parameter.get_help_record(context) is not None and parameter.name != "help"


def _row(parameter: Any, context: Any) -> tuple[str, str]:
    names, meaning = parameter.get_help_record(context)
    return f"`{names}`", " ".join(meaning.split())
