"""Runs the rules over files, as far as comments in them do not silence a rule.

`# noqa: rule` and `# autotune: ignore[rule]` silence a rule in their line,
`# autotune: noqa: rule` and `# autotune: ignore-file[rule]` in the file; without a rule, all.
"""

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

from autotune.code.module import NEWEST, Module, Version, uses_tensorflow
from autotune.doctor.report import Finding, Report, sum_of
from autotune.doctor.rule import Rule
from autotune.doctor.rules import rules
from autotune.doctor.source import NOTEBOOK, Text, Trouble, read_texts
from autotune.errors import CodeError

FILE_LIMIT = 20.0
"""Seconds of computing after which a file is given up; usual ones take hundredths of a second."""
_SKIPPED = {"__pycache__", "node_modules", "venv", "site-packages", "__pypackages__"}
_EVERYTHING = "*"
"""Stands for all rules."""
_WHOLE_FILE = 0
"""Stands for all lines."""
_NAMES = r"[\w-]+(?:\s*,\s*[\w-]+)*"
_OURS = re.compile(
    r"#\s*autotune:\s*ignore(?P<whole>-file)?\b\s*(?:\[(?P<names>[^\]]*)\])?", re.IGNORECASE
)
_NOQA = re.compile(
    rf"#\s*(?P<whole>autotune:\s*)?noqa\b(?::\s*(?P<names>{_NAMES}))?", re.IGNORECASE
)


def check_paths(
    paths: Iterable[Path],
    chosen: Mapping[str, Rule],
    target: Version = NEWEST,
    exclude: Sequence[str] = (),
) -> Report:
    """Return the findings of the chosen rules in files, and in folders without excluded paths."""
    return sum_of(_check_file(each, chosen, target) for each in files_of(paths, exclude))


def check_text(text: Text, chosen: Mapping[str, Rule], target: Version = NEWEST) -> Report:
    """Return the findings of the chosen rules in a text, or raise CodeError if it is no Python."""
    silent, troubles = _suppressions(text)
    root = text.parse()
    try:
        asked = chosen.values() if uses_tensorflow(root) else ()
        found = dict.fromkeys(_found(text, Module(root, target), asked, silent) if asked else ())
    except RecursionError as exc:
        raise CodeError(f"{text.file} is nested too deeply to check.") from exc
    findings = sorted(found, key=lambda it: (it.place.cell or 0, it.place.line, it.place.column))
    return Report(findings=(*findings,), troubles=(*text.troubles, *troubles), files=1)


def _found(
    text: Text, module: Module, asked: Iterable[Rule], silent: set[tuple[int, str]]
) -> Iterator[Finding]:
    for rule in asked:
        for node, sentence, *edits in rule.check(module):
            line = getattr(node, "lineno", 1)
            lines = (line, getattr(node, "end_lineno", None) or line, _WHOLE_FILE)
            if silent.isdisjoint(product(lines, (rule.name, _EVERYTHING))):
                edit = edits[0] if edits and not text.cells else None
                yield Finding(rule.name, rule.severity, text.place(node), sentence, edit)


def _suppressions(text: Text) -> tuple[set[tuple[int, str]], list[Trouble]]:
    """Return the lines and rules that comments silence, and the troubles with these comments."""
    silent: set[tuple[int, str]] = set()
    troubles: list[Trouble] = []
    for line, comment in text.comments():
        for found in filter(None, (_OURS.search(comment), _NOQA.search(comment))):
            listed = _EVERYTHING if found["names"] is None else found["names"].lower()
            names = {each.strip() for each in listed.split(",")} - {""}
            silent |= {(_WHOLE_FILE if found["whole"] else line, name) for name in names}
            unknown = ", ".join(sorted(names - {*rules(), _EVERYTHING}))
            if unknown and found.re is _OURS:
                message = f"{text.where(line)}: unknown rule in comment: {unknown}."
                message = f"{message} See `autotune doctor --rules`."
                troubles.append(Trouble(message, unread=False))
    return silent, troubles


def files_of(paths: Iterable[Path], exclude: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the files themselves, and the Python files and notebooks of folders.

    Hidden folders and those of virtual environments are left out unless they are named.
    """
    each = (file for path in paths for file in (_walk(path, exclude) if path.is_dir() else [path]))
    yield from dict.fromkeys(each)


@contextmanager
def time_limit(seconds: float, file: str) -> Iterator[None]:
    """Raise CodeError once the body has computed for so long; waiting does not count."""

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
        return Report(troubles=(Trouble(str(exc), unread=True),), files=1)
    return replace(sum_of(reports), files=1)


def _walk(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not _is_skipped(here / each, exclude))
        files = [here / each for each in sorted(names) if each.endswith((".py", NOTEBOOK))]
        yield from (each for each in files if not _is_excluded(each, exclude))


def _is_skipped(folder: Path, exclude: Sequence[str]) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _SKIPPED
    return hidden or _is_excluded(folder, exclude) or (folder / "pyvenv.cfg").is_file()


def _is_excluded(path: Path, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path.name, each) or fnmatch(str(path), each) for each in patterns)
