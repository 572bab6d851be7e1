"""A project's own settings: its pyproject.toml, and the TensorFlow that it is written for."""

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from autotune.code.module import NEWEST, Version
from autotune.errors import UsageError, in_words
from autotune.text import hint

_PACKAGES = {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel"}
FILE = "pyproject.toml"
TABLE = "[tool.autotune.doctor]"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a check; the fields are the table's keys."""

    select: tuple[str, ...] | None = None
    """Rules; None for all."""
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Patterns of paths that a search of folders leaves out."""
    target_version: Version = NEWEST


def settings_of(folder: Path) -> Settings:
    """Return the settings of the project that a folder belongs to, or raise UsageError."""
    found = project_file(folder)
    path = found or folder / FILE
    project = read_toml(path) if found else {}
    table = project.get("tool", {}).get("autotune", {}).get("doctor", {})
    values: dict[str, Any] = {"target_version": required_version(path.parent, project)}
    return Settings(**values | dict(_entry(path, *each) for each in table.items()))


def project_file(folder: Path) -> Path | None:
    """Return the pyproject.toml of the project that a folder belongs to."""
    found = (each / FILE for each in (folder, *folder.parents))
    return next((each for each in found if each.is_file()), None)


def read_toml(path: Path) -> dict[str, Any]:
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


def version_of(text: str) -> Version:
    """Return a version of TensorFlow such as `2.15`, or raise UsageError."""
    found = re.fullmatch(r"(\d)\.(\d{1,2})(\.\d+)?", text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a version of TensorFlow.", "For example: 2.15.")
    return int(found[1]), int(found[2])


def required_version(folder: Path, project: dict[str, Any]) -> Version:
    """Return the newest TensorFlow that a project may be installed with, by its two files."""
    lines: list[str] = [*project.get("project", {}).get("dependencies", ())]
    listed = folder / "requirements.txt"
    if listed.is_file():
        lines += listed.read_text("utf-8", errors="replace").splitlines()
    return min(map(_newest, lines), default=NEWEST)


def _newest(line: str) -> Version:
    try:
        requirement = Requirement(line.partition("#")[0].strip())
    except InvalidRequirement:
        return NEWEST
    for minor in range(NEWEST[1], -1, -1) if requirement.name.lower() in _PACKAGES else ():
        releases = (f"2.{minor}.{patch}" for patch in range(10))
        if any(map(requirement.specifier.contains, releases)):
            return 2, minor
    return NEWEST
