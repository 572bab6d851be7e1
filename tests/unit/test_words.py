"""Code and pages say what people who do this job say, where there is a word for a thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "contributing.md").read_text("utf-8").partition("\n## Words\n")[2]
BANNED = frozenset(re.findall(r"`(\w+)`", TABLE.partition("| --- |")[2].partition("\n\n")[0]))
"""What names do not hold, in the singular or as a plural."""
ORDINARY = {
    "api/http": {"frame": "a frame of Python's stack", "who": "the caller, who is a person"},
    "api/log.py": {"level": "how severe a message is, as in `logging`"},
    "api/store": {"level": "of isolation, in SQL"},
    "autotune/code": {"walk": "traversal of a syntax tree, as in `ast.walk`"},
    "autotune/doctor": {
        "level": "how severe a message is, as in GitHub's annotations",
        "walk": "traversal of a folder, as in `os.walk`",
    },
    "autotune/engine": {"frame": "a frame of Python's stack"},
    "autotune/library": {"post": "what dataclasses call a method, `__post_init__`"},
    "autotune/search": {
        "post": "what dataclasses call a method, `__post_init__`",
        "tell": "to give Optuna a result, as in ask and tell",
    },
    "autotune/workload": {"level": "how many dots a relative import has, as in `ast`"},
}
"""Words that mean something else in a package, as people who do this job use them."""
NOT_IN_PAGES = (
    "gangs?",
    "promised",
    "delivered",
    "surely pays?",
    "may pay or not",
    "took part in no choice",
)
"""Words that pages do not hold: those with a star in the table of words."""
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
PAGES = sorted(
    page
    for folder in (
        "docs",
        "docs/benchmarks",
        "docs/extend",
        "docs/service",
        "tools/docs/notes/axes",
        ".",
    )
    for page in (ROOT / folder).glob("*.md")
)


def given_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a text gives to something; those that it only uses are not its own."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)) | ast.MatchAs(name=str(name)):
                yield name


def words_of(name: str) -> set[str]:
    """Return the parts of a name, split at underscores and capitals, each in the singular too."""
    parts = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return {
        name,
        *parts,
        *(each.removesuffix("s") for each in parts),
        *(each.removesuffix("es") for each in parts),
    }


def banned(text: str) -> dict[str, str]:
    """Return the words of our own that names hold, each with a name."""
    names = given_names(ast.parse(text))
    return {word: name for name in names for word in words_of(name) & BANNED}


def sources() -> set[Path]:
    everything = [*(ROOT / "autotune").rglob("*.py"), *(ROOT / "api").rglob("*.py")]
    return {path.resolve().relative_to(ROOT.resolve()) for path in everything}


def test_names_say_the_fields_words() -> None:
    """Every identifier; an exception that no name needs any more would let the word come back."""
    found = {}
    for path in sources():
        for word, name in banned((ROOT / path).read_text("utf-8")).items():
            found["/".join(path.parts[:2]), word] = f"{path}: {name}"
    excepted = {(place, word) for place, words in ORDINARY.items() for word in words}
    assert found.keys() == excepted, found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_say_the_fields_words(page: Path) -> None:
    words = re.compile(rf"\b({'|'.join(NOT_IN_PAGES)})\b", re.IGNORECASE)
    text = FENCED.sub(" ", page.read_text("utf-8"))
    assert not words.findall(" ".join(NO_PROSE.sub(" ", text).split()))
