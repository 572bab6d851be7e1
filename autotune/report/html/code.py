"""Code within a sentence."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_TICKED = re.compile(r"`([^`\n]+)`")


def coded(text: str) -> Markup:
    """Return a sentence as HTML, what stands in backticks as code."""
    # What is escaped already keeps its backticks, and nothing else is let through.
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped
