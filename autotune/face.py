"""What an option is called where somebody reads of it: on the command line, in Python, by REST.

Advice names it by its flag, such as `--global-batch 64`; whatever shows the advice renders that.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class Face(StrEnum):
    """What a reader has called."""

    COMMAND = "command"
    PYTHON = "python"
    SERVICE = "service"


_FLAG = re.compile(r"`[^`]*`|(?<![\w-])--(?P<name>[a-z][a-z-]+)(?: (?P<value>[A-Z0-9]\w*))?")
"""A flag with its value, but none in a text of code, which may be another program's."""
_SWITCHES = {"resume", "unbatch", "allow_asynchronous"}
_FIELDS = {"model_arg": "model_args", "dataset_arg": "dataset_args"}
_face = Face.PYTHON


@contextmanager
def shown_by(face: Face) -> Iterator[None]:
    """Have advice name what a face has, in this process, as long as the block lasts."""
    global _face  # noqa: PLW0603 - a process has one face
    before, _face = _face, face
    try:
        yield
    finally:
        _face = before


def for_face(text: str) -> str:
    """Return a text whose flags are named as this process's face has them."""
    return text if _face is Face.COMMAND else _FLAG.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    if found["name"] is None:
        return found[0]
    name = found["name"].replace("-", "_")
    value: object = found["value"]
    if name.startswith("no_"):
        name, value = name.removeprefix("no_"), False
    elif name in _SWITCHES:
        value = True
    elif isinstance(value, str) and value.isdecimal():
        value = int(value)
    name = _FIELDS.get(name, name)
    if value is None:
        return f"`{name}`"
    return f"`{name}={value!r}`" if _face is Face.PYTHON else f'`"{name}": {json.dumps(value)}`'
