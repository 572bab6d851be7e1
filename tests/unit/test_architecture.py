"""The rules that keep the parts apart."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import autotune

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "autotune", ROOT / "autotune" / "api", ROOT / "autotune" / "search_spaces")
"""The last two are links, which a search does not follow by itself."""
SOURCES = sorted({path for place in PLACES for path in place.rglob("*.py")})

LAYERS = (
    {"errors", "value", "window", "version", "probes", "owner"},
    {"extras"},
    {"config", "automatic", "machine", "cluster", "durations", "lint"},
    {"workload"},
    {"strategies"},
    {"search_spaces"},
    {"space"},
    {"script"},
    {"run"},
    {"measure"},
    {"trial", "certificate", "diagnose"},
    {"past", "recommendation", "certify"},
    {"search"},
    {"testing", "verification"},
    {"report", "board"},
    {"tuning"},
    {"api"},
    {"cli"},
)
"""Lowest first; a part may import what stands before it, and its own files."""


def part_of(path: Path) -> str:
    return path.relative_to(ROOT / "autotune").parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The parts of autotune that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autotune."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("autotune.")}
    return found


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def all_modules_of(path: Path) -> set[str]:
    """The modules that a file imports, of whomever."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    plain = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    return plain | modules_of(path)


def modules_of(path: Path) -> set[str]:
    """The modules of autotune that a file imports from."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lower_parts_never_import_higher_ones(path: Path) -> None:
    """A part imports only parts that stand before it."""
    part = part_of(path)
    if part in {"__init__", "__main__"}:
        return
    level = next(i for i, layer in enumerate(LAYERS) if part in layer)
    allowed = set().union(*LAYERS[:level], {part})
    assert imports_of(path) <= allowed


HTTP = {"fastapi", "starlette", "uvicorn", "prometheus_client"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_one_package_knows_http(path: Path) -> None:
    """The job service, its store and its worker can be used without the web framework."""
    known = {each.partition(".")[0] for each in all_modules_of(path)} & HTTP
    inside = path.is_relative_to(ROOT / "autotune" / "api" / "http")
    assert inside or not known


def test_no_two_files_import_each_other() -> None:
    """The files form a hierarchy, within each part as well."""
    names = {module_of(path): path for path in SOURCES}
    graph = {name: modules_of(path) & set(names) - {name} for name, path in names.items()}
    # The packages' own files only hand on names; they would close every circle.
    packages = {name for name, path in names.items() if path.name == "__init__.py"}
    rest = {name: seen - packages for name, seen in graph.items() if name not in packages}
    TopologicalSorter(rest).prepare()


def test_every_package_on_disk_is_declared() -> None:
    """A folder with Python files that setuptools does not know would be missing in a wheel."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
        "packages"
    ]
    packages = [path for path in SOURCES if path.name == "__init__.py"]
    found = {".".join(each.parent.relative_to(ROOT).parts) for each in packages}
    assert found == set(declared)


def test_every_other_file_on_disk_is_declared() -> None:
    """A template that setuptools does not know would be missing in a wheel."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    declared = {
        path
        for package, patterns in setuptools["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    every = {path for place in PLACES for path in place.rglob("*") if path.is_file()}
    found = {path for path in every if path.suffix not in {".py", ".pyc"}}
    assert found == declared


def test_public_names_are_the_ones_listed() -> None:
    """`__all__` holds every public name, each can be imported, and nothing else is offered."""
    assert autotune.__all__ == sorted(autotune.__all__, key=lambda n: (n.islower(), n))
    assert set(autotune.__all__) == set(autotune._HOME)
    for name in autotune.__all__:
        assert getattr(autotune, name) is not None


SLOW = {"tensorflow", "keras", "optuna", "scipy", "pandas"}
"""What takes from half a second to several to be imported."""
DATABASE = {"sqlmodel", "sqlalchemy", "fastapi"}


@pytest.mark.parametrize(
    ("statement", "slow"),
    [
        ("import autotune", SLOW | DATABASE),
        ("from autotune import autotune", SLOW | DATABASE),
        ("import autotune.api.http.server", SLOW),
        ("import autotune.api.work.worker", SLOW),
    ],
)
def test_import_leaves_what_is_slow_alone(statement: str, slow: set[str]) -> None:
    """TensorFlow is imported by trial processes only, the rest when a search begins."""
    code = f"import sys; {statement}; print(*({slow} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
