"""What of a folder is sent to a service."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from autotune.errors import UsageError
from autotune.packing import IGNORE, packed


def names(folder: Path) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(packed(folder).archive)) as made:
        return {each.name for each in made}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("train.py", "models/a.py", "data/big.bin", "notes.txt", ".env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    for name in (".venv", "__pycache__", "autotune-out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pyc").write_text("")
    return tmp_path


def test_all_but_the_usual_caches_is_packed(project: Path) -> None:
    assert names(project) == {"train.py", "models/a.py", "data/big.bin", "notes.txt"}
    (project / IGNORE).write_text("/data\n*.txt\n")
    assert names(project) == {"train.py", "models/a.py", IGNORE}


def test_with_git_it_is_what_git_tracks_or_would_track(project: Path) -> None:
    git = ["git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (project / ".gitignore").write_text("notes.txt\n")
    subprocess.run([*git, "add", "train.py"], check=True)
    assert names(project) == {"train.py", "models/a.py", "data/big.bin", ".gitignore"}
    (project / IGNORE).write_text("data/\n")
    assert "data/big.bin" not in names(project)
    (project / "train.py").unlink()  # Tracked, and gone.
    assert "train.py" not in names(project)


def test_equal_files_are_equal_bytes(project: Path) -> None:
    first = packed(project)
    (project / "train.py").touch()
    assert packed(project) == first
    (project / "train.py").write_text("other")
    assert packed(project).digest != first.digest


def test_what_is_sent_is_told(project: Path) -> None:
    (project / "data/big.bin").write_bytes(bytes(3000))
    assert packed(project).summary == "4 files, 2.96 KiB; the largest is data/big.bin (2.93 KiB)"


@pytest.mark.parametrize("bounds", [{"most_bytes": 30}, {"most_files": 3}])
def test_too_much_is_refused_with_the_largest(project: Path, bounds: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"data/big\.bin \(12 B\)") as refused:
        packed(project, **bounds)
    assert IGNORE in refused.value.next_step


def test_a_link_is_packed_as_its_file_within_the_folder(project: Path) -> None:
    (project / "same.py").symlink_to("train.py")
    (project / "gone.py").symlink_to("nowhere")
    assert "same.py" in names(project)
    assert "gone.py" not in names(project)
    (project / "out.py").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="leads out of the folder"):
        packed(project)


def test_an_empty_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        packed(tmp_path)
