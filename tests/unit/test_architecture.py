"""What is packaged and offered; who may import whom stands in pyproject.toml, for import-linter."""

from __future__ import annotations

import tomllib
from pathlib import Path

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
