"""What a project says about its checks: `[tool.autotune.doctor]` in its `pyproject.toml`."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from autotune.doctor.target import NEWEST, Version, required_version, version_of
from autotune.errors import UsageError, in_words
from autotune.text import hint

FILE = "pyproject.toml"
TABLE = "[tool.autotune.doctor]"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How code is checked; the fields are the table's keys."""

    select: tuple[str, ...] | None = None
    """Rules; None for all."""
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Patterns of paths that a search of folders leaves out."""
    target_version: Version = NEWEST


def settings_of(folder: Path) -> Settings:
    """Return the settings of the project that a folder belongs to, or raise UsageError."""
    found = [each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()]
    path = found[0] if found else folder / FILE
    project = _read(path) if found else {}
    table = project.get("tool", {}).get("autotune", {}).get("doctor", {})
    values: dict[str, Any] = {"target_version": required_version(path.parent, project)}
    return Settings(**values | dict(_entry(path, *each) for each in table.items()))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise UsageError(f"{path} cannot be read: {in_words(exc)}.") from exc


def _entry(path: Path, key: str, value: Any) -> tuple[str, Any]:
    known = [each.name.replace("_", "-") for each in fields(Settings)]
    if key not in known:
        raise UsageError(f"{path}: unknown key {key!r} in {TABLE}.", hint(key, known))
    if key == "target-version" and isinstance(value, str):
        return "target_version", version_of(value)
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if key == "target-version" or not texts:
        wanted = 'a text such as "2.15"' if key == "target-version" else "a list of texts"
        raise UsageError(f"{path}: {key} in {TABLE} must be {wanted}.")
    return key, tuple(value)
