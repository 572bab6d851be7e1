"""Suggestions for names that are unknown."""

from __future__ import annotations

from autotune.hints import closest, hint


def test_a_name_that_resembles_others_suggests_them() -> None:
    """The most similar comes first."""
    assert closest("mirored", ["tpu", "mirrored"]) == ["mirrored"]
    assert hint("prefech", ["cache", "prefetch"]) == "Did you mean prefetch?"
    assert hint("work", ["works", "worker", "x"]) == "Did you mean works or worker?"


def test_a_name_that_resembles_none_lists_them() -> None:
    """All that are known, or those that the caller chose to list."""
    assert hint("q", ["cache", "prefetch"]) == "Available: cache, prefetch."
    assert hint("q", ["cache", "prefetch"], listed=["cache"]) == "Available: cache."
    assert hint("q", []) == "Available: none."
