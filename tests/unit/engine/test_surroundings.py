"""A script that is timed finds its files, and changes none of them."""

import shutil
from pathlib import Path

import pytest

from autotune.engine.child import surroundings
from autotune.engine.child.surroundings import working_copy


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with data, whose copies lie elsewhere."""
    folder, copies = tmp_path / "user", tmp_path / "copies"
    (folder / "data").mkdir(parents=True)
    copies.mkdir()
    (folder / "data" / "a.csv").write_text("1,2")
    (folder / "model.keras").write_text("precious")
    monkeypatch.setattr(surroundings.tempfile, "tempdir", str(copies))
    monkeypatch.chdir(folder)
    return folder


def test_what_is_written_lies_in_the_copy(here: Path) -> None:
    """Old files, new ones, and whole folders that are removed."""
    with working_copy():
        Path("model.keras").write_text("of a trial")
        Path("data/b.csv").write_text("3")
        shutil.rmtree("data")
    assert (here / "model.keras").read_text() == "precious"
    assert [each.name for each in (here / "data").iterdir()] == ["a.csv"]
    assert Path.cwd() == here


def test_the_original_cannot_be_changed_by_its_path(here: Path) -> None:
    """It says so, and afterwards all is as before."""
    with working_copy(), pytest.raises(PermissionError, match="may not change"):
        (here / "model.keras").write_text("of a trial")
    with working_copy(), pytest.raises(PermissionError, match="may not change"):
        (here / "model.keras").unlink()
    (here / "model.keras").write_text("mine")


def test_a_large_file_is_read_and_not_overwritten(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a link, so that no trial copies a dataset."""
    monkeypatch.setattr(surroundings, "LARGEST_COPY", 2)
    with working_copy():
        assert Path("data/a.csv").read_text() == "1,2"
        with pytest.raises(PermissionError, match="may not change"):
            Path("data/a.csv").write_text("")
    assert (here / "data" / "a.csv").read_text() == "1,2"


def test_folders_beyond_many_are_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that is started at home costs no copy of all that lies there."""
    monkeypatch.setattr(surroundings, "MOST_ENTRIES", 0)
    with working_copy():
        assert Path("data").is_symlink()
        assert Path("data/a.csv").read_text() == "1,2"


@pytest.mark.parametrize("linked", [True, False])
def test_what_lies_beside_the_folder_is_read_and_not_changed(
    here: Path, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    """Scripts in `src` read `../data`, and write `../models`."""
    monkeypatch.setattr(surroundings, "MOST_BESIDE", 0 if linked else 100)
    beside = here.parent / "beside"
    beside.mkdir()
    (beside / "b.csv").write_text("3,4")
    with working_copy() as copy:
        assert Path("../beside/b.csv").read_text() == "3,4"
        assert (copy.path.parent / "beside" / "b.csv").is_file()
        for change in (
            lambda p: p.write_text(""),
            Path.unlink,
            lambda p: p.with_name("new").mkdir(),
        ):
            if not linked:
                change(Path("../beside/b.csv"))
                continue
            with pytest.raises(PermissionError, match="may not change"):
                change(Path("../beside/b.csv"))
    assert [each.name for each in beside.iterdir()] == ["b.csv"]
    assert (beside / "b.csv").read_text() == "3,4"


def test_a_folder_that_is_kept_may_be_written(here: Path) -> None:
    """The trial's own lies there."""
    with working_copy(here / "data"):
        (here / "data" / "events").write_text("")


def test_beside_a_folder_of_the_root_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the /app of a container; there lie /proc and the system."""
    filled: dict[Path, int] = {}
    monkeypatch.setattr(
        surroundings, "_fill", lambda _, original, most, **__: filled.update({original: most})
    )
    monkeypatch.setattr(surroundings.os, "chdir", lambda _: None)
    monkeypatch.setattr(surroundings.sys, "addaudithook", lambda _: None)
    monkeypatch.setattr(Path, "cwd", lambda: Path("/app"))
    with working_copy():
        assert filled == {Path("/app"): surroundings.MOST_ENTRIES, Path("/"): 0}
