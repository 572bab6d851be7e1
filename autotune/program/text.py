"""Pieces of program text, laid out as ruff's formatter would, and the templates that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from textwrap import fill

from jinja2 import Environment, PackageLoader, StrictUndefined

from autotune.errors import ConfigurationError
from autotune.value import Scalar

WIDTH = 100


def literal(value: Scalar | None) -> str:
    """Return a value as Python text, with double quotes where they need no more escapes."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    text = repr(value)
    if '"' not in text:  # so that every single quote in it is a delimiter
        return text.replace("'", '"')
    if not isinstance(value, str) or "'" not in value or value.count("'") < value.count('"'):
        return text
    inside = text[1:-1].replace("\\'", "'").replace('"', '\\"')
    return f'"{inside}"' if text.startswith("'") else text


def call(
    head: str, arguments: Iterable[tuple[str, str]], *, before: str = "", indent: int = 0
) -> str:
    """Return a call, on one line if it fits.

    Args:
        head: What is called.
        arguments: Pairs of a name and the text of its value; an empty name is positional.
        before: What stands before the call on its first line, such as `dataset = `.
        indent: Spaces before the line. The first line is returned without them.
    """
    parts = [f"{name}={text}" if name else text for name, text in arguments]
    flat = f"{before}{head}({', '.join(parts)})"
    if indent + len(flat) <= WIDTH or not parts:
        return flat
    inner = " " * (indent + 4)
    together = inner + ", ".join(parts)
    apart = "\n".join(f"{inner}{part}," for part in parts)
    body = together if len(together) <= WIDTH else apart
    return f"{before}{head}(\n{body}\n{' ' * indent})"


def paragraph(text: str, *, indent: int = 0, first: int = 0) -> str:
    """Return text filled to the width, to stand at `indent`, but its first line at `first`."""
    lines = fill(
        " ".join(text.split()),
        width=WIDTH - indent,
        initial_indent=" " * first,
        break_long_words=False,
        break_on_hyphens=False,
    ).splitlines()
    return ("\n" + " " * indent).join(lines).lstrip()


def check_plain(what: str, text: str) -> None:
    """Make sure that a text may stand anywhere in a file that is no Python program."""
    if not text.isascii() or not all(each.isalnum() or each in "._+-" for each in text):
        raise ConfigurationError(
            f"The {what} {text!r} cannot be written into a file.",
            "Use letters, digits, '.', '_', '+' and '-'.",
        )


def fill_in(template: str, context: Mapping[str, object]) -> str:
    """Return the text of a template with its values."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autotune.program"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the result is a program, not a web page
    )
    environment.filters["literal"] = literal
    environment.filters["paragraph"] = paragraph
    return environment
