"""The TensorFlow that code is written for: what is asked for, or what its project requires."""

import re
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from autotune.errors import UsageError

Version = tuple[int, int]
NEWEST: Version = (2, 21)
"""With which every rule was tried out."""
KERAS_3: Version = (2, 16)
"""From here on, tf.keras is Keras 3."""
_PACKAGES = {"tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel"}


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
