"""Every text that is rendered is as it was, character by character.

Some are kept whole, all others as what differs from the nearest of them. After a change on
purpose, rewrite them with `pytest tests/unit/program --update-golden` and read the difference
before it is committed.
"""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.golden import golden_texts

GOLDEN = Path(__file__).with_name("golden")
WHOLE = (
    *("one_device.py", "mirrored_loop.py", "workers_data.py", "servers_data.py", "script.py"),
    *("launch.py", "launch.slurm", "jobset.yaml", "launch_ray.py"),
)


def kept(name: str) -> tuple[Path, str]:
    """Return the file that keeps a text, and what should stand in it."""
    if name in WHOLE:
        return GOLDEN / name, golden_texts()[name]
    kind = Path(name).suffix
    differences = [difference(each, name) for each in WHOLE if each.endswith(kind)]
    return GOLDEN / f"{name}.diff", min(differences, key=len)


def difference(one: str, other: str) -> str:
    texts = [golden_texts()[name].splitlines(keepends=True) for name in (one, other)]
    return "".join(unified_diff(*texts, one, other, n=1))


@pytest.mark.parametrize("name", golden_texts())
def test_a_text_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    path, text = kept(name)
    if request.config.getoption("--update-golden", default=False):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_nothing_else_is_kept() -> None:
    """A case that was taken away leaves no file."""
    files = {each for each in GOLDEN.iterdir() if each.is_file() and each.name != "ruff.toml"}
    assert files == {kept(name)[0] for name in golden_texts()}


def test_programs_stand_alone() -> None:
    texts = "\n".join(golden_texts().values())
    assert "import autotune" not in texts
    assert "from autotune" not in texts
