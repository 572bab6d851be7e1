"""A page of figures: what a command measured at a commit.

A page begins with a head that says how the figures come about. The figures stand under `NOW`, after
a line that names the commit of those that they replace, which git keeps, and what changed since.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune.engine.local import LocalEngine
from autotune.machine import Machine
from benchmarks.plots import draw

NOW = "## Figures at commit "
REPLACED = "Figures of "
CODE = ("autotune", "api", "benchmarks", "examples", "pyproject.toml", "constraints.txt")
"""What figures depend on; a page that was just written is none of it."""
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where figures go.

    Attributes:
        path: The file, which may hold figures of another commit.
        head: Title and explanations, in Markdown.
        since: What changed since the figures that are there, in a sentence or two.
    """

    path: Path
    head: str
    since: str

    def write(self, figures: Sequence[str], commit: str) -> None:
        """Replace the figures, and draw the plot that shows them."""
        old = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        before = self._before(old, commit)
        lines = [self.head.strip(), "", f"{NOW}{commit}", "", *before, *figures]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
        draw(self.path)

    def _before(self, old: str, commit: str) -> list[str]:
        """Return the line about the figures that are replaced; parts of one commit keep theirs."""
        found = commit_of(old)
        if found == commit:
            kept = re.search(rf"^{REPLACED}.+$", old, re.MULTILINE)
            return [kept[0], ""] if kept else []
        line = f"{REPLACED}{found} stood here before. Changed since: {self.since}"
        return [line, ""] if found else []


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that writes a page."""
    parser.add_argument("--out", type=Path, help="the page to write; default: none")
    parser.add_argument("--since", default="", help="what changed since its present figures")


def page_of(options: argparse.Namespace, head: str, commit: str) -> Page | None:
    """Return the page that was asked for, None without one.

    Raises:
        SystemExit: It holds figures of another commit, and nobody said what changed since.
    """
    if options.out is None:
        return None
    path: Path = options.out
    found = commit_of(path.read_text(encoding="utf-8")) if path.exists() else None
    if found not in {None, commit} and not options.since:
        raise SystemExit(f"{path} has figures of {found}: say with --since what changed.")
    return Page(path=path, head=head, since=options.since)


def commit_of(text: str) -> str | None:
    """Return the commit whose figures a page shows."""
    found = re.search(rf"^{re.escape(NOW)}(.+)$", text, re.MULTILINE)
    return found[1] if found else None


def this_commit() -> str:
    """Return the last commit that changed the code that runs, and whether it was changed since."""
    commit = _git("log", "-1", "--format=%H", "--", *CODE)[:7]
    return f"{commit}, with changes" if _git("status", "--porcelain", "--", *CODE) else commit


def this_machine() -> str:
    """Return in words what figures in seconds depend on here."""
    with LocalEngine() as engine:
        return in_words(engine.machine())


def in_words(machine: Machine) -> str:
    """Return what figures in seconds depend on."""
    return (
        f"{machine} ({machine.processor}), Python {machine.python}, "
        f"TensorFlow {machine.tensorflow}, Keras {machine.keras}"
    )


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
