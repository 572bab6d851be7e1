"""What Tab offers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from autotune.cli.options import space_names, strategy_names
from autotune.space import ready_made
from autotune.strategies import strategies


def test_every_space_and_strategy_is_offered(folder: Path) -> None:
    """The names are read from the files, and are the ones that the search knows."""
    assert folder.is_dir()
    assert set(space_names("")) == {"auto", *ready_made()}
    assert set(strategy_names("")) == set(strategies())


def test_a_list_goes_on_with_what_it_does_not_have() -> None:
    """A strategy is offered once."""
    assert strategy_names("mirrored,mi") == []
    assert "mirrored,one_device" in strategy_names("mirrored,")


def test_files_and_folders_are_offered_too(folder: Path) -> None:
    """A space of one's own is a file."""
    (folder / "spaces").mkdir()
    (folder / "spaces" / "own.yaml").touch()
    (folder / "spaces" / "notes.txt").touch()
    assert space_names("sp") == ["spaces/"]
    assert space_names("spaces/") == ["spaces/own.yaml"]
    assert space_names("nowhere/") == []


def test_tab_does_not_wait_for_the_search() -> None:
    """Neither spaces nor strategies are imported for their names."""
    code = (
        "import sys; from autotune.cli.options import space_names, strategy_names;"
        "space_names(''), strategy_names('');"
        "slow = {'autotune.space', 'autotune.strategies', 'scipy', 'tensorflow'};"
        "sys.exit(bool(slow & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
