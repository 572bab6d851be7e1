"""What is said of how to install this project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.docs.pages import ROOT

FOLDERS = ("autotune", "api", "benchmarks", "deploy", "docs", "examples", "tests", "tools")
SUFFIXES = {".cfg", ".html", ".ipynb", ".j2", ".js", ".md", ".py", ".sh", ".slurm", ".yaml", ".yml"}
FOREIGN = re.compile(
    r"\bautotune\[\w"  # with an extra
    r"|\b(?:pip3?|pipx|uv|poetry)\s+(?:pip\s+)?(?:install|add|run)\s[^\n`]*(?<![\w./-])autotune\b(?![\w./-])"
    r"|\buvx\s+autotune\b"
)
"""Takes `autotune` from an index, where the name is that of somebody else's package."""


def texts() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "Makefile"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if (path.suffix in SUFFIXES or path.name == "Containerfile") and path != Path(__file__):
                yield path


def test_nobody_is_sent_to_another_project_of_the_same_name() -> None:
    """Extras are installed from the checkout, as `pip install ".[service]"`."""
    assert [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in texts()
        for found in FOREIGN.finditer(path.read_text("utf-8", "ignore"))
    ] == []
