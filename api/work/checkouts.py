"""Workloads from git: the files of each commit that the operator names, in a folder of their own.

Nothing runs that a repository asks for: there are no hooks and no submodules, and files come as
they are in the commit, whatever its attributes and the configuration of git on this host are. What
is unpacked stays within its folder. What a commit holds cannot change, so that a folder is made
once and never again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from autotune.api.log import log
from autotune.api.workloads import Commit

SECONDS = 60.0
"""Longest wait for a repository, and the first pause after one that cannot be had."""
LONGEST_SECONDS = 3600.0
"""Longest of these pauses."""
MOST_BYTES = 1 << 30
"""Of the files of a commit together."""
_QUIETLY = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
}
"""Nobody is there to be asked for a password."""
_BARELY = ("-c", "core.hooksPath=/dev/null", "-c", "fetch.recurseSubmodules=no")
_ATTRIBUTES = "* -filter -text -eol -crlf -ident -working-tree-encoding\n"
_BRANCHES = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_FAILURES = (OSError, subprocess.SubprocessError, ValueError, RuntimeError)  # of links in a circle


class Checkouts:
    """Keeps the files of commits. Processes may share its folder."""

    def __init__(
        self,
        folder: Path,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._most_bytes = most_bytes
        self._later: dict[Commit, tuple[float, float]] = {}
        """Until when one is left alone that could not be had, and for how long."""

    def of(self, commit: Commit) -> Path | None:
        made = self._folder_of(commit)
        return made if made.is_dir() else None

    def fetch(self, commits: Iterable[Commit]) -> None:
        """Get what is missing, as far as the first failure.

        That is logged, and tried again after some time, which doubles: meanwhile there are others.
        """
        for each in dict.fromkeys(commits):
            until, pause = self._later.get(each, (0.0, SECONDS))
            if self.of(each) is None and self._clock() >= until:
                try:
                    self._make(each)
                except _FAILURES as exc:
                    self._later[each] = self._clock() + pause, min(2 * pause, LONGEST_SECONDS)
                    log(
                        "A workload's repository cannot be had.",
                        logging.ERROR,
                        repository=_public(each.repository),
                        commit=each.commit,
                        error=_public(_why(exc)),
                    )
                    return

    def _folder_of(self, commit: Commit) -> Path:
        named = hashlib.sha256(commit.repository.encode()).hexdigest()[:12]
        return self._folder / f"{named}-{commit.commit}"

    def _make(self, commit: Commit) -> None:
        own = self._folder / f".{secrets.token_hex(8)}"
        own.mkdir(parents=True, mode=0o700)
        try:
            repository, files = own / "repository", own / "files"
            git = partial(_git, repository)
            (repository / "info").mkdir(parents=True)
            (repository / "info" / "attributes").write_text(_ATTRIBUTES, "utf-8")
            git("init", "--quiet", "--bare", ".")
            bare = ("fetch", "--quiet", "--no-tags")
            try:
                git(*bare, "--depth=1", "--", commit.repository, commit.commit)
            except subprocess.CalledProcessError:  # Some servers give no single commits.
                git(*bare, "--", commit.repository, *_BRANCHES)
            files.mkdir()
            tree = f"{commit.commit}^{{commit}}"
            listed = git("ls-tree", "-r", "--long", tree).splitlines()
            sizes = [each.split(maxsplit=4)[3] for each in listed]
            if sum(int(each) for each in sizes if each != b"-") > self._most_bytes:
                raise ValueError(f"its files take more than {self._most_bytes} bytes")
            git(f"--work-tree={files.absolute()}", "read-tree", "--reset", "-u", tree)
            _check_links(files.resolve())
            # Another worker may have been sooner, with the same.
            if self.of(commit) is None:
                files.rename(self._folder_of(commit))
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", *_BARELY, *arguments],  # noqa: S607 - wherever the operator has it
        cwd=repository,
        env={**_QUIETLY, **os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=True,
    ).stdout


def _check_links(folder: Path) -> None:
    """Make sure that no link leads out of a folder: whoever reads the files would read others."""
    for each in folder.rglob("*"):
        if each.is_symlink() and not each.resolve().is_relative_to(folder):
            raise ValueError(f"{each.name!r} leads out of its folder")


def _why(exc: Exception) -> str:
    output = getattr(exc, "stderr", None)
    return (output or b"").decode(errors="replace").strip() or f"{type(exc).__name__}: {exc}"


def _public(text: str) -> str:
    """Return a text without the user and the password of an address."""
    return re.sub(r"(?<=://)[^/\s]*@", "", text)
