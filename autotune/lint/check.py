"""Runs the rules over files, as far as comments in them do not silence a rule."""

from __future__ import annotations

import ast
import gc
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from autotune.errors import CodeError
from autotune.lint.code import Module
from autotune.lint.code.module import NOT_INSIDE
from autotune.lint.report import Finding, Report, Trouble
from autotune.lint.rule import Rule
from autotune.lint.rules import rules
from autotune.lint.text import NOTEBOOK, Text, comments, read_text

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


_COMMENT = re.compile(r"#\s*autotune:\s*(ignore(?:-file)?)\b\s*(?:\[([^\]]*)\])?")
MARK = "autotune:"
EVERYTHING = "*"
"""Stands for all rules."""


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """What a file wants to be silent about."""

    lines: dict[int, set[str]] = field(default_factory=dict)
    """The rules that are silenced in a line."""
    whole: set[str] = field(default_factory=set)
    troubles: tuple[Trouble, ...] = ()

    def silence(self, rule: str, first: int, last: int) -> bool:
        """Return whether a finding from one line to another is not to be told."""
        silenced = self.whole.union(*(self.lines.get(n, ()) for n in {first, last}))
        return rule in silenced or EVERYTHING in silenced


def suppressions(text: Text, known: Collection[str]) -> Suppressions:
    """Return what the comments of a text ask for."""
    if MARK not in text.content:
        return Suppressions()
    found, troubles = Suppressions(), []
    for line, comment in comments(text):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        names = _names(match[2])
        unknown = sorted(names - set(known) - {EVERYTHING})
        if unknown:
            troubles.append(_unknown(text.where(line), unknown))
        target = found.whole if match[1] == "ignore-file" else found.lines.setdefault(line, set())
        target.update(names)
    return Suppressions(lines=found.lines, whole=found.whole, troubles=tuple(troubles))


def _names(listed: str | None) -> set[str]:
    if listed is None:
        return {EVERYTHING}
    return {each.strip() for each in listed.split(",") if each.strip()}


def _unknown(where: str, names: list[str]) -> Trouble:
    listed = ", ".join(names)
    return Trouble(
        text=f"{where}: unknown rule in comment: {listed}. See `autotune doctor --rules`.",
        unread=False,
    )


_SUFFIXES = {".py", NOTEBOOK}
_SKIPPED = {"__pycache__", "node_modules", "venv", "site-packages", "__pypackages__"}


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files themselves, and the Python files and notebooks of folders.

    Hidden folders and those of virtual environments are left out unless they are named.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _walk(path) if path.is_dir() else [path]:
            if file not in seen:
                seen.add(file)
                yield file


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not _is_skipped(here, each))
        yield from (here / each for each in sorted(names) if Path(each).suffix in _SUFFIXES)


def _is_skipped(place: Path, name: str) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED
    return hidden or (place / name / "pyvenv.cfg").is_file()
