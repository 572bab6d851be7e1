"""Values as people write them on a command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.value import Scalar

# YAML 1.1 takes a number such as 1e-3 for text, because it has no point.
_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")


def pairs(texts: Iterable[str], option: str) -> dict[str, Scalar]:
    """Return the values of `name=value` texts, each read as a YAML scalar.

    Raises:
        UsageError: One is malformed, or a name comes twice.
    """
    found: dict[str, Scalar] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(
                f"{option} {text!r} is not NAME=VALUE.",
                f"For example: {option} units=512.",
            )
        if name in found:
            raise UsageError(f"{option} sets {name!r} twice.", "Remove one of them.")
        found[name] = scalar(value, option)
    return found


def scalar(text: str, option: str) -> Scalar:
    """Return the number, truth value or text that a text stands for.

    Raises:
        UsageError: It is a list, a mapping, or nothing.
    """
    if _EXPONENT.fullmatch(text):
        return float(text)
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, list | dict) or (value is None and text):
        raise UsageError(
            f"{option} does not accept {text!r}.", "Use a number, true, false or a string."
        )
    # A date, say, is meant as it is written.
    return value if isinstance(value, bool | int | float | str) else text
