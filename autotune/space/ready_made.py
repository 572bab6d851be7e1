"""Finding and reading spaces: the ready-made ones and a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from autotune.errors import SpaceError, in_words
from autotune.machine import Machine
from autotune.space.schema import MachineKind, Space, parse_space
from autotune.text import closest

AUTO = "auto"
"""Instead of a name, it stands for whichever ready-made space fits the machine."""


@cache
def ready_made() -> dict[str, Space]:
    """Return the ready-made spaces by name, each from its file."""
    folder = files("autotune.search_spaces")
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): _parse(folder.joinpath(name).read_text("utf-8"), name)
        for name in names
    }


def _hint(name: str) -> str:
    known = [AUTO, *ready_made()]
    close = closest(name, known)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}Available: {', '.join(known)}, or the path of a YAML file."


def load_space(name: str) -> Space:
    """Return a space by the name of a ready-made one, or by the path of a YAML file.

    It needs no machine, so a wrong name is known at once. `auto` does: see `space_for`.
    """
    if name in ready_made():
        return ready_made()[name]
    path = Path(name)
    if path.suffix not in (".yaml", ".yml", ".json") and not path.is_file():
        raise SpaceError(f"Unknown space {name!r}.", _hint(name))
    try:
        return _parse(path.read_text("utf-8"), name)
    except (OSError, UnicodeDecodeError) as exc:
        raise SpaceError(f"{name} cannot be read: {in_words(exc)}.", "Check the path.") from exc


def space_for(machine: Machine) -> Space:
    kind = kind_of(machine)
    return next(space for space in ready_made().values() if space.chosen_for == kind)


def kind_of(machine: Machine) -> MachineKind:
    """Return which kind of machine this is, by its fastest devices."""
    if machine.tpus:
        return "tpu"
    if machine.gpus:
        return "gpus" if len(machine.gpus) > 1 else "gpu"
    return "cpu"


def _parse(text: str, where: str) -> Space:
    try:
        data, tree = yaml.safe_load(text), yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as exc:
        raise SpaceError(f"{where} is not valid YAML{_problem(exc)}.", "Fix this line.") from exc
    return parse_space(data, where=where, line_of=lambda path: _line_of(tree, path))


def _problem(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f": {str(error).splitlines()[0]}"
    begun = error.context_mark
    since = f", for what begins in line {begun.line + 1}" if begun else ""
    return f" in line {error.problem_mark.line + 1}: {error.problem}{since}"


def _line_of(tree: yaml.Node | None, path: Sequence[str | int]) -> int | None:
    """Return the line of the innermost part of a path that a file has."""
    line = None
    for key in path:
        if isinstance(tree, yaml.MappingNode):
            pairs = [(name, value) for name, value in tree.value if name.value == key]
        elif isinstance(tree, yaml.SequenceNode) and isinstance(key, int):
            pairs = [(each, each) for each in tree.value[key : key + 1]]
        else:
            break
        if not pairs:
            break
        (name, tree), *_ = pairs
        line = name.start_mark.line + 1
    return line
