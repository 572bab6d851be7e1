"""Where the options of `autotune tune` come from: a file, the environment, flags.

Click merges them, and the last one counts; which file and which keys there are stands here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from autotune.errors import UsageError

PREFIX = "AUTOTUNE"
"""Of the environment variables: `AUTOTUNE_BUDGET=5min`."""
TABLE = "[tool.autotune]"
_FILE = "autotune.settings"
_APART = ("config", "show_settings", "help")


def read_settings(context: typer.Context, file: Path | None) -> Path | None:
    """Make what a settings file says the defaults of a command, before its options are read.

    Without a file it is the project's pyproject.toml, found upward from the working folder.
    """
    from autotune.project import FILE, project_file, read_toml

    path = file or project_file(Path.cwd())
    if path is None or context.resilient_parsing:
        return file
    if path.suffix != ".toml":
        raise UsageError(
            f"--config reads options from a TOML file, which {path} is not.",
            "For example: budget = '5min'. What a search has saved is read by `autotune script`.",
        )
    table = read_toml(path)
    if path.name == FILE:
        table = table.get("tool", {}).get("autotune", {})
        table = {key: value for key, value in table.items() if key != "doctor"}
    context.default_map = dict(_entry(context, path, *each) for each in table.items())
    context.meta[_FILE] = path
    return file


def _entry(context: typer.Context, path: Path, key: str, value: Any) -> tuple[str, Any]:
    from autotune.text import hint

    # Those of `autotune tune`: another command takes what it has of them.
    tune = context.find_root().command.commands["tune"]  # type: ignore[attr-defined] # of a group
    known = {each.name.replace("_", "-"): each for each in _options(context, tune)}
    option = known.get(key.replace("_", "-"))
    if option is None:
        where = f" in {TABLE}" if path.name == "pyproject.toml" else ""
        raise UsageError(f"{path}: unknown key {key!r}{where}.", hint(key, known))
    return option.name, _written(value, several=option.multiple)


def _written(value: Any, *, several: bool) -> Any:
    """Return a value of a TOML file as the command line takes it."""
    if isinstance(value, dict):
        value = [f"{name}={each}" for name, each in value.items()]
    if several:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _options(context: typer.Context, command: Any) -> Iterator[Any]:
    for each in command.get_params(context):
        if each.param_type_name == "option" and each.name not in _APART:
            yield each


def sources(context: typer.Context) -> Iterator[tuple[str, str, str]]:
    values = {**context.params, **context.obj.values()}
    for each in _options(context, context.command):
        known = {
            "COMMANDLINE": "command line",
            "ENVIRONMENT": f"{PREFIX}_{each.name.upper()}",
            "DEFAULT_MAP": str(context.meta.get(_FILE)),
        }
        found = context.get_parameter_source(each.name)
        source = known.get(found.name, "default") if found else "default"
        yield each.opts[0], _shown(values[each.name]), source


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "-" if value is None else text or "-"
