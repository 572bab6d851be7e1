"""A page of figures: what a command measured at a commit.

A page begins with a head that says how the figures come about. The figures stand under `NOW`, after
a line that names the commit of those that they replace, which git keeps, and what changed since.
"""

import re
import subprocess
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
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
    """Where figures go."""

    path: Path | None
    """The file, which may hold figures of another commit; None: none was asked for."""
    head: str
    """Title and explanations, in Markdown."""
    since: str
    """What changed since the figures that are there, in a sentence or two."""
    commit: str
    """Of the code that is measured."""

    def show(self, figures: Sequence[str]) -> None:
        """Print the figures, and write them where that was asked for."""
        print("\n".join(figures))
        self.write(figures)

    def write(self, figures: Sequence[str]) -> None:
        """Replace the figures, and draw the plot that shows them."""
        if self.path is None:
            return
        before = self._before(_text(self.path))
        lines = [self.head.strip(), "", f"{NOW}{self.commit}", "", *before, *figures]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
        draw(self.path)

    def _before(self, old: str) -> list[str]:
        """Return the line about the figures that are replaced; parts of one commit keep theirs."""
        found = commit_of(old)
        if found == self.commit:
            kept = re.search(rf"^{REPLACED}.+$", old, re.MULTILINE)
            return [kept[0], ""] if kept else []
        line = f"{REPLACED}{found} stood here before. Changed since: {self.since}"
        return [line, ""] if found else []


def parser_of(command: str) -> ArgumentParser:
    """Return a parser for a command that writes a page, whose docstring is its help."""
    parser = ArgumentParser(description=command, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the page to write; default: none")
    parser.add_argument("--since", default="", help="what changed since its present figures")
    return parser


def page_of(options: Namespace, head: str) -> Page:
    """Return where the figures of the present code go.

    Raises:
        SystemExit: There are figures of another commit, and nobody said what changed since.
    """
    page = Page(path=options.out, head=head, since=options.since, commit=this_commit())
    found = commit_of(_text(page.path)) if page.path else None
    if found not in {None, page.commit} and not page.since:
        raise SystemExit(f"{page.path} has figures of {found}: say with --since what changed.")
    return page


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


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()
