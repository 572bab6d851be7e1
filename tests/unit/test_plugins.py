"""What other packages add, by entry points."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.errors import UsageError
from autotune.versions import load_plugin, load_plugins

GROUP = "autotune.tests"
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with some entry points on the path."""

    def put(points: str) -> None:
        (tmp_path / "added_by_a_test.py").write_text("small = 1\ntext = 'one'\n")
        info = tmp_path / "added-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
        monkeypatch.syspath_prepend(tmp_path)

    return put


def test_load_plugin_imports_what_a_package_declares(install: Install) -> None:
    """By the name of the entry point; no package takes the place of what is built in."""
    install("mine = added_by_a_test:small")
    assert load_plugin(GROUP, "mine") == 1
    assert load_plugins(GROUP, int) == {"mine": 1}
    assert load_plugin(GROUP, "mine", {"mine": "math:pi"}) == math.pi


@pytest.mark.parametrize(
    ("points", "kind", "told"),
    [
        ("mine = nosuch_module:small", object, r"'mine' of added cannot be.*nosuch_module"),
        ("mine = added_by_a_test:nosuch", object, r"AttributeError.*Repair or uninstall"),
        ("mine = added_by_a_test:text", int, r"is not a int.*added_by_a_test:text must refer"),
        ("mina = added_by_a_test:small", object, r"Unknown test 'mine'.*Did you mean mina\?"),
        ("", object, r"Unknown test 'mine'.*Available: none"),
    ],
)
def test_load_plugin_names_cause_and_next_step(
    install: Install, points: str, kind: type, told: str
) -> None:
    """Whatever is wrong with a package, the error says where it is and what to do."""
    install(points)
    with pytest.raises(UsageError, match=told):
        load_plugin(GROUP, "mine", kind=kind)
