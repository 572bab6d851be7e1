"""What a project says about its checks: `[tool.autotune.doctor]` in its `pyproject.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from autotune.doctor.target import NEWEST, Version, required_version, version_of
from autotune.errors import UsageError, in_words
from autotune.hints import hint

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

    def with_options(
        self, select: Sequence[str], ignore: Sequence[str], target: str | None
    ) -> Settings:
        """Return the settings as a call changes them: its selection replaces the table's."""
        return replace(
            self,
            select=tuple(select) or self.select,
            ignore=(*self.ignore, *ignore),
            target_version=version_of(target) if target else self.target_version,
        )


def settings_of(folder: Path) -> Settings:
    """Return the settings of the project that a folder belongs to.

    Raises:
        UsageError: They cannot be read, or are wrong.
    """
    found = [each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()]
    if not found:
        return Settings(target_version=required_version(folder, {}))
    project = _read(found[0])
    table = project.get("tool", {}).get("autotune", {}).get("doctor", {})
    values = dict(_entry(found[0], key, value) for key, value in table.items())
    required = required_version(found[0].parent, project)
    return Settings(**{"target_version": required, **values})


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as exc:
        raise UsageError(f"{path} cannot be read: {in_words(exc)}.") from exc


def _entry(path: Path, key: str, value: Any) -> tuple[str, Any]:
    """Return a field and its value."""
    known = [each.name.replace("_", "-") for each in fields(Settings)]
    if key not in known:
        raise UsageError(f"{path}: unknown key {key!r} in {TABLE}.", hint(key, known))
    is_version = key == "target-version"
    if is_version and isinstance(value, str):
        return "target_version", version_of(value)
    if is_version or not isinstance(value, list) or not all(isinstance(e, str) for e in value):
        wanted = 'a text such as "2.15"' if is_version else "a list of texts"
        raise UsageError(f"{path}: {key} in {TABLE} must be {wanted}.")
    return key, tuple(value)
