"""The pages that are made from the code say what the code says, and links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import autotune
from autotune.config import axes
from autotune.doctor.rules import rules
from autotune.options import declared
from autotune.space import ready_made
from autotune.strategies import strategies
from tools.docs.blocks import PAGES
from tools.docs.pages import DOCS, NOTES, ROOT, write
from tools.docs.write import config, pages

MADE = pages()
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FIT_ROW = re.compile(r"^\| .* \| (?:equal|differs).* \| `(test_\w+)` \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
RULE = re.compile(r"^- rule `([^`]+)`", re.MULTILINE)


def test_there_is_a_page_for_each() -> None:
    """Axis, strategy, public name; what is written by hand of one stands at its end."""
    for folder, names in (
        ("axes", axes()),
        ("strategies", strategies()),
        ("reference", autotune.__all__),
    ):
        assert {f"{folder}/{each}.md" for each in names} <= MADE.keys()
    for path in NOTES.rglob("*.md"):
        assert MADE[str(path.relative_to(NOTES))].endswith(path.read_text("utf-8"))


def test_every_page_is_in_the_navigation_and_not_committed() -> None:
    """By the configuration that `make docs` writes; its folder or file is ignored."""
    navigation = config()
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    for name in MADE:
        assert name in navigation
        assert f"docs/{name.partition('/')[0]}" + "/" * ("/" in name) in ignored


def test_writing_removes_what_is_gone(tmp_path: Path) -> None:
    """A strategy or axis that was removed leaves no page behind, and notes of others stay."""
    (tmp_path / "axes").mkdir()
    (tmp_path / "axes" / "gone.md").touch()
    (tmp_path / "mine.md").touch()
    write({"axes/cache.md": "# cache\n"}, tmp_path)
    assert {each.name for each in tmp_path.rglob("*.md")} == {"cache.md", "mine.md"}


def test_a_page_says_what_the_declaration_says() -> None:
    """Values of the spaces, reasons of refusal and the axis's own sentence are there."""
    page = MADE["axes/steps_per_execution.md"]
    assert "Training steps per call" in page
    assert all(str(each) in page for each in ready_made()["tpu"].axes["steps_per_execution"])
    assert "XLA compiles for one device" in MADE["strategies/mirrored.md"]
    assert "+    model.jit_compile, model.steps_per_execution = True" in MADE["axes/xla.md"]
    assert "`--resume`" in MADE["commands.md"]
    rows = MADE["reference/SearchOptions.md"].splitlines()
    for option in declared():
        (row,) = (each for each in rows if each.startswith(f"| `{option.name}` |"))
        assert option.description in row
    assert all(f"### {name}\n" in MADE["doctor.md"] for name in rules())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Those of a written page not to a made one: who reads it there has not run `make docs`."""
    made = {(DOCS / name).resolve() for name in MADE}
    for link in LINK.findall(CODE.sub("", path.read_text("utf-8"))):
        to = (path.parent / link).resolve()
        assert to.exists(), link
        assert path.resolve() in made or to not in made, link


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_or_rule_that_a_page_names_is_there(path: Path) -> None:
    text = path.read_text("utf-8")
    for file, name in TEST.findall(text):
        assert f"def {name}(" in (ROOT / file).read_text("utf-8")
    tests = (ROOT / "tests").rglob("test_*.py")
    every = "\n".join(each.read_text() for each in tests) if FIT_ROW.search(text) else ""
    assert [name for name in FIT_ROW.findall(text) if f"def {name}(" not in every] == []
    assert {*RULE.findall(text)} <= rules().keys()


VARIABLE = re.compile(r"\bAUTOTUNE_[A-Z]+(?:_[A-Z]+)*\b")
INTERNAL = {"AUTOTUNE_ATTEMPT"}
"""Of processes that the service starts, and of its tests."""


def variables_in(text: str) -> set[str]:
    """Return the variables that a text names; those of the service are its settings."""
    return {each for each in VARIABLE.findall(text) if not each.startswith("AUTOTUNE_SERVICE_")}


def test_every_variable_is_on_the_page_and_no_other() -> None:
    files = [path for name in ("autotune", "api") for path in (ROOT / name).rglob("*.py")]
    read = {name for path in files for name in variables_in(path.read_text("utf-8"))}
    assert read - INTERNAL <= variables_in((DOCS / "spaces.md").read_text("utf-8")) <= read
    assert read >= INTERNAL


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
