"""Exceptions are described by their place in the user's code."""

from __future__ import annotations

import json

from autotune.engine.failure import describe, last_lines


def test_the_place_is_the_innermost_of_the_user() -> None:
    """Frames of Python and of libraries are passed over."""
    try:
        json.loads("{")
    except ValueError as exc:
        told = describe(exc)
    assert told["kind"] == "JSONDecodeError"
    assert told["where"].startswith("test_failure.py line ")
    assert told["detail"].splitlines()[-1].startswith("json.decoder.JSONDecodeError")


def test_a_syntax_error_is_where_it_is_written() -> None:
    try:
        compile("a b", "/somewhere/program.py", "exec")
    except SyntaxError as exc:
        told = describe(exc)
    assert (told["message"], told["where"]) == ("invalid syntax", "program.py line 1")


def test_last_lines_hold_something() -> None:
    """Empty lines, and what only we understand, are left out."""
    text = "one\n\n  \ntwo\nExtension modules: numpy, and so on\nthree\n"
    assert last_lines(text) == "one\ntwo\nthree"
    assert last_lines(text, 1) == "three"
