"""What is packaged and offered; who may import whom stands in pyproject.toml, for import-linter."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "autotune", ROOT / "autotune" / "api", ROOT / "autotune" / "search_spaces")
"""The last two are links, which a search does not follow by itself."""
SOURCES = sorted({path for place in PLACES for path in place.rglob("*.py")})


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
