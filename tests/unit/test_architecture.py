"""What is packaged and offered; who may import whom stands in pyproject.toml, for import-linter."""

import re
import tomllib
from pathlib import Path

import grimp
from packaging.requirements import Requirement

from autotune.engine.fork_server import OLDEST, too_old

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "autotune", ROOT / "autotune" / "api", ROOT / "autotune" / "search_spaces")
"""The last two are links, which a search does not follow by itself."""


def test_every_package_and_file_on_disk_is_declared() -> None:
    """A folder or a template that setuptools does not know would be missing in a wheel."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    every = {path for place in PLACES for path in place.rglob("*") if path.is_file()}
    packages = [path.parent for path in every if path.name == "__init__.py"]
    found = {".".join(each.relative_to(ROOT).parts) for each in packages}
    assert found == set(setuptools["packages"])
    declared = {
        path
        for package, patterns in setuptools["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    assert {path for path in every if path.suffix not in {".py", ".pyc"}} == declared


def test_the_floors_are_those_that_are_tested_and_refused_below() -> None:
    """The oldest version of each dependency is what `make test-versions` installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["examples"], *extras["service"]]
    floors = {e.name: str(e.specifier).removeprefix(">=") for e in map(Requirement, needed)}
    _, *pinned = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    tested = dict(each.split("==") for each in pinned)
    assert [n for n in floors if not f"{tested.get(n)}.".startswith(f"{floors[n]}.")] == []
    for name, floor in OLDEST.items():
        oldest = ".".join(map(str, floor))
        assert floors[name.lower()] == oldest
        assert too_old({name: f"{oldest}.1+nv24.5"}) == ""
        assert (
            too_old({name: f"{floor[0]}.{floor[1] - 1}.9"}) == f"{name} {floor[0]}.{floor[1] - 1}.9"
        )


def test_the_drawing_shows_every_import_that_no_longer_path_implies() -> None:
    """Between the packages that docs/architecture.md draws; one box stands for several modules."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    drawing = page.partition("flowchart TD\n")[2].partition("```")[0]
    drawn = set(re.findall(r"^  (\w+)(?:\[.*?\])? --> (\w+)", drawing, re.MULTILINE))
    values = re.findall(r"`(\w+)`", page.partition("*Values* are")[2].partition(".")[0])
    below = re.findall(r"`(\w+)`", page.partition("the foundation: ")[2].partition(".")[0])
    box = dict.fromkeys(values, "values")
    graph = grimp.build_graph("autotune", cache_dir=None)
    packages = {name for pair in drawn for name in pair}
    direct: set[tuple[str, str]] = set()
    for module in graph.modules - {"autotune", "autotune.__main__", "autotune.search_spaces"}:
        for imported in graph.find_modules_directly_imported_by(module) - {"autotune"}:
            pair = [box.get(m, m) for m in (each.split(".")[1] for each in (module, imported))]
            assert {*pair} <= {*packages, *below}, "a package is neither drawn nor named"
            if pair[0] != pair[1] and {*pair} <= packages:
                direct.add((pair[0], pair[1]))
    reached = direct
    for _ in packages:
        reached = reached | {(a, d) for a, b in reached for c, d in direct if b == c}
    implied = {(a, d) for a, b in direct for c, d in reached if b == c}
    assert drawn == direct - implied
