"""Runs the rules over files, as far as comments in them do not silence a rule."""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from autotune.doctor.code import Module
from autotune.doctor.code.module import NOT_INSIDE
from autotune.doctor.read import NOTEBOOK, read_texts
from autotune.doctor.report import Finding, Report, Trouble, sum_of
from autotune.doctor.rule import Rule
from autotune.doctor.suppression import Suppressions
from autotune.doctor.target import NEWEST, Version
from autotune.doctor.text import Text
from autotune.errors import CodeError

FILE_LIMIT = 20.0
"""Seconds of computing after which a file is given up; usual ones take hundredths of a second."""
_MANY_OBJECTS = 200_000
_IMPORT = re.compile(rf"\b(?:import|from)\b[^\n]*\b(?:tensorflow|keras)\b{NOT_INSIDE}")
"""Roughly what `Module.uses_tensorflow` says, before anything is parsed."""
_SUFFIXES = {".py", NOTEBOOK}
_SKIPPED = {"__pycache__", "node_modules", "venv", "site-packages", "__pypackages__"}


def check_paths(
    paths: Iterable[Path],
    chosen: Mapping[str, Rule],
    target: Version = NEWEST,
    exclude: Iterable[str] = (),
) -> Report:
    """Return what the chosen rules find in files and folders.

    Args:
        paths: Files, and folders to search.
        chosen: The rules by name.
        target: The TensorFlow that the code is written for.
        exclude: Patterns of paths that are left out of folders.
    """
    with _seldom_collected():
        return sum_of([_check_file(each, chosen, target) for each in files_of(paths, exclude)])


def check_text(text: Text, chosen: Mapping[str, Rule], target: Version = NEWEST) -> Report:
    """Return what the chosen rules find in a text.

    Raises:
        CodeError: It is no Python.
    """
    suppressions = Suppressions(text)
    troubles = (*text.troubles, *suppressions.troubles)
    applicable = _applicable(text.content, chosen)
    if not applicable:
        text.check_syntax()
        return Report(troubles=troubles, files=1)
    try:
        found = sorted(
            _found(text, applicable, target), key=lambda each: (each[0], each[2].place.column)
        )
    except RecursionError as exc:
        raise CodeError(f"{text.file} is nested too deeply to check.") from exc
    findings = [each for line, last, each in found if not suppressions.hide(each, line, last)]
    return Report(findings=tuple(findings), troubles=troubles, files=1)


def files_of(paths: Iterable[Path], exclude: Iterable[str] = ()) -> Iterator[Path]:
    """Yield the files themselves, and the Python files and notebooks of folders.

    Hidden folders and those of virtual environments are left out unless they are named.
    """
    patterns = [*exclude]
    each = (file for path in paths for file in (_walk(path, patterns) if path.is_dir() else [path]))
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


def _check_file(path: Path, chosen: Mapping[str, Rule], target: Version) -> Report:
    try:
        with time_limit(FILE_LIMIT, str(path)):
            reports = [check_text(each, chosen, target) for each in read_texts(path)]
    except CodeError as exc:
        return Report(troubles=(Trouble(text=str(exc), unread=True),), files=1)
    return replace(sum_of(reports), files=1)


def _walk(folder: Path, exclude: list[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not _is_skipped(here, each, exclude))
        for name in sorted(names):
            if Path(name).suffix in _SUFFIXES and not _is_excluded(here / name, exclude):
                yield here / name


def _is_skipped(place: Path, name: str, exclude: list[str]) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED or _is_excluded(place / name, exclude)
    return hidden or (place / name / "pyvenv.cfg").is_file()


def _is_excluded(path: Path, patterns: list[str]) -> bool:
    """Return whether a pattern fits a path, or its last part, as those of other linters do."""
    return any(fnmatch(path.name, each) or fnmatch(str(path), each) for each in patterns)


def _applicable(content: str, chosen: Mapping[str, Rule]) -> list[Rule]:
    """Return the rules that the text may break, by the words that occur in it."""
    if not _IMPORT.search(content):
        return []
    content = content.lower()
    return [rule for rule in chosen.values() if rule.may_apply_to(content)]


def _found(
    text: Text, applicable: list[Rule], target: Version
) -> Iterator[tuple[int, int, Finding]]:
    """Yield what is found, each with its first and last line in the text as a whole."""
    module = Module(text.parse(), target)
    for rule in applicable if module.uses_tensorflow else ():
        for node, sentence, *edits in rule.check(module):
            finding = Finding(
                rule=rule.name,
                severity=rule.severity,
                place=text.place(node),
                sentence=sentence,
                edit=edits[0] if edits and not text.cells else None,
            )
            line = getattr(node, "lineno", 1)
            yield line, getattr(node, "end_lineno", None) or line, finding
