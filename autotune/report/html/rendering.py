"""Views become a page; nothing in them is ever taken for markup, or fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from autotune.report.html.environment import environment

STYLE, SCRIPT = "style.css", "script.js"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML or UTF-8 cannot hold; what a dying process printed may have them."""


def render(view: object) -> str:
    """Return the page."""
    parts = {"style": _part(STYLE), "script": _part(SCRIPT), "policy": policy()}
    text = _environment().get_template("report.html").render(view=view, **parts)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


@cache
def policy() -> str:
    """Return a policy under which the page can load nothing and run only its own script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(_part(STYLE))}'",
            f"script-src '{_digest(_part(SCRIPT))}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _part(name: str) -> Markup:
    text = (files(__package__) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704 - a file of ours


@cache
def _environment() -> Environment:
    return environment(__package__ or "")
