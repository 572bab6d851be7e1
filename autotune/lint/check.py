"""Runs the rules over files, as far as comments in them do not silence a rule.

`# autotune: ignore[rule]` silences a rule in its line, `# autotune: ignore-file[rule]` in the file.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from autotune.errors import CodeError
from autotune.lint.code import Module
from autotune.lint.code.module import NOT_INSIDE
from autotune.lint.report import Finding, Report, Trouble
from autotune.lint.rule import Rule
from autotune.lint.rules import rules
from autotune.lint.text import NOTEBOOK, Text, comments, read_text

FILE_LIMIT = 20.0
"""Seconds of computing after which a file is given up; usual ones take hundredths of a second."""
_MANY_OBJECTS = 200_000
_IMPORT = re.compile(rf"\b(?:import|from)\b[^\n]*\b(?:tensorflow|keras)\b{NOT_INSIDE}")
"""Roughly what `Module.uses_tensorflow` says, before anything is parsed."""
_SUFFIXES = {".py", NOTEBOOK}
_SKIPPED = {"__pycache__", "node_modules", "venv", "site-packages", "__pypackages__"}
_COMMENT = re.compile(r"#\s*autotune:\s*(ignore(?:-file)?)\b\s*(?:\[([^\]]*)\])?")
_EVERYTHING = "*"
"""Stands for all rules."""
_WHOLE_FILE = 0
"""Stands for all lines."""


def check_paths(paths: Iterable[Path], chosen: Mapping[str, Rule]) -> Report:
    """Return what the chosen rules find in files and folders."""
    with _seldom_collected():
        reports = [_check_file(path, chosen) for path in files_of(paths)]
    return Report(
        findings=tuple(each for report in reports for each in report.findings),
        troubles=tuple(each for report in reports for each in report.troubles),
        files=len(reports),
    )


def check_text(text: Text, chosen: Mapping[str, Rule]) -> Report:
    """Return what the chosen rules find in a text.

    Raises:
        CodeError: It is no Python.
    """
    silent, troubles = _suppressions(text)
    applicable = _applicable(text.content, chosen)
    if not applicable:
        text.check_syntax()
        return Report(troubles=troubles, files=1)
    try:
        found = sorted(_found(text, applicable), key=lambda each: (each[0], each[2].place.column))
    except RecursionError as exc:
        raise CodeError(f"{text.file} is nested too deeply to check.") from exc
    findings = []
    for line, last, finding in found:
        silenced = silent[line] | silent[last] | silent[_WHOLE_FILE]
        if not silenced & {finding.rule, _EVERYTHING}:
            findings.append(finding)
    return Report(findings=tuple(findings), troubles=troubles, files=1)


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files themselves, and the Python files and notebooks of folders.

    Hidden folders and those of virtual environments are left out unless they are named.
    """
    each = (file for path in paths for file in (_walk(path) if path.is_dir() else [path]))
    yield from dict.fromkeys(each)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let Python look for garbage less often: trees are many objects, and grow at once."""
    before = gc.get_threshold()
    gc.set_threshold(_MANY_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def time_limit(seconds: float, file: str) -> Iterator[None]:
    """Raise CodeError once the body has computed for so long; waiting does not count.

    Python grants the timer to its main thread only; elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(*_: object) -> None:
        raise CodeError(
            f"{file} was given up after {seconds:g} seconds of computing.",
            "Split the file, or leave out rules with --ignore.",
        )

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _check_file(path: Path, chosen: Mapping[str, Rule]) -> Report:
    try:
        with time_limit(FILE_LIMIT, str(path)):
            return check_text(read_text(path), chosen)
    except CodeError as exc:
        return Report(troubles=(Trouble(text=str(exc), unread=True),), files=1)


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not _is_skipped(here, each))
        yield from (here / each for each in sorted(names) if Path(each).suffix in _SUFFIXES)


def _is_skipped(place: Path, name: str) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED
    return hidden or (place / name / "pyvenv.cfg").is_file()


def _applicable(content: str, chosen: Mapping[str, Rule]) -> list[Rule]:
    """Return the rules that the text may break, by the words that occur in it."""
    if not _IMPORT.search(content):
        return []
    content = content.lower()
    return [rule for rule in chosen.values() if rule.may_apply_to(content)]


def _found(text: Text, applicable: list[Rule]) -> Iterator[tuple[int, int, Finding]]:
    """Yield what is found, each with its first and last line in the text as a whole."""
    module = Module(text.parse())
    for rule in applicable if module.uses_tensorflow else ():
        for node, sentence in rule.check(module):
            place = text.place(node)
            finding = Finding(
                rule=rule.name, severity=rule.severity, place=place, sentence=sentence
            )
            line = getattr(node, "lineno", 1)
            yield line, getattr(node, "end_lineno", None) or line, finding


def _suppressions(text: Text) -> tuple[Mapping[int, set[str]], tuple[Trouble, ...]]:
    """Return the rules that comments silence, by line, and the comments that make no sense."""
    silent: dict[int, set[str]] = defaultdict(set)
    troubles = []
    for line, comment in comments(text) if "autotune:" in text.content else ():
        match = _COMMENT.search(comment)
        if match is None:
            continue
        listed = _EVERYTHING if match[2] is None else match[2]
        names = {each.strip() for each in listed.split(",")} - {""}
        unknown = ", ".join(sorted(names - {*rules(), _EVERYTHING}))
        if unknown:
            told = f"{text.where(line)}: unknown rule in comment: {unknown}."
            troubles.append(Trouble(text=f"{told} See `autotune doctor --rules`.", unread=False))
        silent[_WHOLE_FILE if match[1] == "ignore-file" else line] |= names
    return silent, tuple(troubles)
