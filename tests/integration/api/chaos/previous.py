"""The version before this one, for upgrades: what stood before the newest migration was added."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.service.site import ROOT

MIGRATIONS = "api/store/migrations/versions"
COMMIT = os.environ.get("AUTOTUNE_TEST_PREVIOUS", "")
"""Another commit to upgrade from."""


def unpack_previous(folder: Path) -> tuple[Path, str]:
    """Unpack the version before; return its folder and its commit.

    Raises:
        subprocess.CalledProcessError: The history is not here, as in a shallow clone.
    """
    commit = COMMIT or _run("git", "log", "-1", "--diff-filter=A", "--format=%H^", "--", MIGRATIONS)
    short = _run("git", "rev-parse", "--short", "--verify", commit)
    archive = folder.with_suffix(".tar")
    _run("git", "archive", f"--output={archive}", short)
    folder.mkdir()
    _run("tar", "--extract", f"--file={archive}", f"--directory={folder}")
    archive.unlink()
    return folder, short


def _run(name: str, *words: str) -> str:
    program = shutil.which(name) or name
    command = [program, *words]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
