"""How views become pages: nothing in them is ever taken for markup, and no name is misspelt."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from autotune.report.html.code import coded


def environment(package: str) -> Environment:
    """Return what renders the templates of a package."""
    made = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    made.filters["coded"] = coded
    return made
