"""Fills in the templates of the programs and of what starts them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from autotune.script.text import literal, paragraph


def fill_in(template: str, context: Mapping[str, object]) -> str:
    """Return the text of a template with its values.

    Args:
        template: Its file's name.
        context: The values; one that is missing is an error.
    """
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autotune.script"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the result is a program, not a web page
    )
    environment.filters["literal"] = literal
    environment.filters["paragraph"] = paragraph
    return environment
