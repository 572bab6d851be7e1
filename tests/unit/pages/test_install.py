"""What is said of how to install this project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    """Give every file in which somebody may read how to install it."""
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "Makefile"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if (path.suffix in SUFFIXES or path.name == "Containerfile") and path != Path(__file__):
                yield path


def test_nobody_is_sent_to_another_project_of_the_same_name() -> None:
    """Extras are installed from the checkout, as `pip install ".[notebook]"`."""
    assert [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in texts()
        for found in FOREIGN.finditer(path.read_text("utf-8", "ignore"))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install --upgrade autotune",
        "uvx autotune tune train.py",
        "Install the same autotune[ray] on all machines.",
    ],
)
def test_a_command_that_would_is_found(text: str) -> None:
    assert FOREIGN.search(text)
