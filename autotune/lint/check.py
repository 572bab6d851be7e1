"""Runs the rules over files."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autotune.errors import CodeError
from autotune.lint.code import Module
from autotune.lint.code.module import NOT_INSIDE
from autotune.lint.finding import Finding, Report, Trouble
from autotune.lint.paths import files_of
from autotune.lint.rule import Rule
from autotune.lint.rules import rules
from autotune.lint.suppression import suppressions
from autotune.lint.text import Text, read_text

_MANY_OBJECTS = 200_000
_IMPORT = re.compile(rf"\b(?:import|from)\b[^\n]*\b(?:tensorflow|keras)\b{NOT_INSIDE}")
"""Roughly what `Module.uses_tensorflow` says, before anything is parsed."""


def check_paths(paths: Iterable[Path], chosen: Mapping[str, Rule]) -> Report:
    """Return what the chosen rules find in files and folders."""
    findings: list[Finding] = []
    troubles: list[Trouble] = []
    count = 0
    with _seldom_collected():
        for path in files_of(paths):
            count += 1
            report = check_file(path, chosen)
            findings += report.findings
            troubles += report.troubles
    return Report(findings=tuple(findings), troubles=tuple(troubles), files=count)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let Python look for garbage less often: trees are many objects, and grow at once."""
    before = gc.get_threshold()
    gc.set_threshold(_MANY_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def check_file(path: Path, chosen: Mapping[str, Rule]) -> Report:
    """Return what the chosen rules find in a file."""
    try:
        return check_text(read_text(path), chosen)
    except CodeError as exc:
        return Report(troubles=(Trouble(text=str(exc), unread=True),), files=1)


def check_text(text: Text, chosen: Mapping[str, Rule]) -> Report:
    """Return what the chosen rules find in a text.

    Raises:
        CodeError: It is no Python.
    """
    silent = suppressions(text, rules())
    applicable = _applicable(text.content, chosen)
    if not applicable:
        text.check_syntax()
        return Report(troubles=silent.troubles, files=1)
    try:
        findings = sorted(_findings(text, text.parse(), applicable), key=_order)
    except RecursionError as exc:
        raise CodeError(f"{text.file} is nested too deeply to check.") from exc
    told = [
        finding for line, last, finding in findings if not silent.silence(finding.rule, line, last)
    ]
    return Report(findings=tuple(told), troubles=silent.troubles, files=1)


def _applicable(content: str, chosen: Mapping[str, Rule]) -> list[Rule]:
    """Return the rules that the text may break, by the words that occur in it."""
    if not _IMPORT.search(content):
        return []
    content = content.lower()
    return [rule for rule in chosen.values() if rule.may_apply_to(content)]


def _findings(
    text: Text, root: ast.Module, applicable: list[Rule]
) -> Iterator[tuple[int, int, Finding]]:
    """Yield what is found, each with its first and last line in the text as a whole."""
    module = Module(root)
    if not module.uses_tensorflow:
        return
    for rule in applicable:
        for node, sentence in rule.check(module):
            finding = Finding(
                rule=rule.name,
                severity=rule.severity,
                place=text.place(node),
                sentence=sentence,
            )
            line = getattr(node, "lineno", 1)
            yield line, getattr(node, "end_lineno", None) or line, finding


def _order(found: tuple[int, int, Finding]) -> tuple[int, int, str]:
    return found[0], found[2].place.column, found[2].rule
