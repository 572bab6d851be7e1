"""Code within a sentence of the page."""

from __future__ import annotations

from autotune.report.html.rendering import coded


def test_what_stands_in_backticks_is_code() -> None:
    """Each piece for itself; a lone backtick stays."""
    assert coded("call `map` or `batch`") == "call <code>map</code> or <code>batch</code>"
    assert coded("a ` alone") == "a ` alone"


def test_nothing_becomes_markup() -> None:
    """Neither within backticks nor outside."""
    assert coded("`<b>` <i>") == "<code>&lt;b&gt;</code> &lt;i&gt;"
