"""What is said of a space that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.errors import SpaceError
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.space import candidates, load_space, parse_space
from autotune.testing import FAKE_FACTS, FAKE_MACHINE


def test_a_mistyped_name_gets_a_proposal() -> None:
    """The closest name comes first, then all of them."""
    with pytest.raises(SpaceError, match=r"'quik'\. Did you mean quick\? Available: auto, cpu"):
        load_space("quik")


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    """The system's words do not repeat the path."""
    path = tmp_path / "own.yaml"
    with pytest.raises(SpaceError) as caught:
        load_space(str(path))
    assert str(caught.value) == f"{path} cannot be read: No such file or directory. Check the path."


@pytest.mark.parametrize(
    ("axis", "hint"), [("prefech", "Did you mean prefetch"), ("q", "Available: ")]
)
def test_an_unknown_axis_gets_a_proposal(axis: str, hint: str) -> None:
    """Whoever mistyped one of autotune's axes is told which was meant."""
    space = parse_space({"strategies": ["one_device"], "axes": {axis: [1, 2]}}, where="own")
    machine: Machine = FAKE_MACHINE
    with pytest.raises(SpaceError, match=hint):
        candidates(space, machine, FAKE_FACTS, SearchOptions())
