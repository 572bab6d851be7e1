"""Pieces of HTML for a notebook's cell, which has colours of its own, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# No colour but the cell's own, so that it reads on any background. The selectors outdo Jupyter's.
_STYLE = """<style>
.autotune { max-width: 60em }
.autotune table td, .autotune table th { text-align: left !important; vertical-align: top }
.autotune table td, .autotune table th { padding: 1px 1em 1px 0; white-space: normal }
.autotune table td.n, .autotune table th.n { text-align: right !important; white-space: nowrap }
.autotune .dim { opacity: .7 }
.autotune .best { font-weight: bold }
.autotune ul { margin: .3em 0; padding-left: 1.3em }
.autotune summary { cursor: pointer }
.autotune progress { width: 100% }
</style>"""


def block(*parts: str) -> str:
    """Return pieces of HTML as one cell."""
    return f'{_STYLE}<div class="autotune">{"".join(parts)}</div>'


def tag(name: str, text: str, kind: str = "") -> str:
    """Return a text in a tag; nothing in it is markup."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<{name}{attribute}>{escape(text)}</{name}>"


def listed(texts: Iterable[str]) -> str:
    """Return texts as a list."""
    return f"<ul>{''.join(tag('li', text) for text in texts)}</ul>"


def folded(head: str, inside: str) -> str:
    """Return pieces that a click unfolds."""
    return f"<details>{tag('summary', head, 'dim')}{inside}</details>"


def table(heads: Sequence[str], rows: Iterable[tuple[Sequence[str], str]]) -> str:
    """Return a table.

    Args:
        heads: Headings; one that begins with `>` is of a column of figures.
        rows: The cells of each row, and its class.
    """
    kinds = ["n" if head.startswith(">") else "" for head in heads]
    head = "".join(
        tag("th", text.removeprefix(">"), kind) for text, kind in zip(heads, kinds, strict=True)
    )
    body = "".join(
        f'<tr class="{kind}">'
        + "".join(tag("td", text, each) for text, each in zip(cells, kinds, strict=True))
        + "</tr>"
        for cells, kind in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
