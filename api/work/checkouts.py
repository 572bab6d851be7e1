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
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from autotune.api.log import log
from autotune.api.workloads import Commit

SECONDS = 60.0
"""Longest wait for a repository."""
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
_ATTRIBUTES = (
    "* -filter -text -eol -crlf -ident -working-tree-encoding -export-ignore -export-subst\n"
)
_BRANCHES = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
# Python has it from 3.11.4 on, and Debian's is older.
_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
_FAILURES = (OSError, subprocess.SubprocessError, tarfile.TarError, ValueError)


class Checkouts:
    """Keeps the files of commits. Processes may share its folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def of(self, commit: Commit) -> Path | None:
        made = self._folder_of(commit)
        return made if made.is_dir() else None

    def fetch(self, commits: Iterable[Commit]) -> None:
        """Get what is missing; a failure is logged, and tried again the next time."""
        for each in dict.fromkeys(commits):
            if self.of(each) is None:
                try:
                    self._make(each)
                except _FAILURES as exc:
                    log(
                        "A workload's repository cannot be had.",
                        logging.ERROR,
                        repository=_public(each.repository),
                        commit=each.commit,
                        error=_public(_why(exc)),
                    )

    def _folder_of(self, commit: Commit) -> Path:
        named = hashlib.sha256(commit.repository.encode()).hexdigest()[:12]
        return self._folder / f"{named}-{commit.commit}"

    def _make(self, commit: Commit) -> None:
        own = self._folder / f".{secrets.token_hex(8)}"
        own.mkdir(parents=True, mode=0o700)
        try:
            repository, archive = own / "repository", own / "files.tar"
            git = _git_in(repository)
            git("init", "--quiet", "--bare", ".")
            (repository / "info").mkdir(exist_ok=True)
            (repository / "info" / "attributes").write_text(_ATTRIBUTES, "utf-8")
            _fetch(git, commit)
            tree = f"{commit.commit}^{{commit}}"
            git("archive", "--format=tar", f"--output={archive.absolute()}", tree)
            _unpack(archive, own / "files", self._most_bytes)
            # Another worker may have been sooner, with the same.
            if self.of(commit) is None:
                (own / "files").rename(self._folder_of(commit))
        finally:
            shutil.rmtree(own, ignore_errors=True)


Git = Callable[..., None]


def _git_in(repository: Path) -> Git:
    repository.mkdir()
    environment: Mapping[str, str] = {**_QUIETLY, **os.environ, "LC_ALL": "C"}

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", *_BARELY, *arguments],  # noqa: S607 - wherever the operator has it
            cwd=repository,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )

    return git


def _fetch(git: Git, commit: Commit) -> None:
    """Get one commit, or all branches and tags from a server that gives no single ones."""
    bare = ("fetch", "--quiet", "--no-tags")
    try:
        git(*bare, "--depth=1", "--", commit.repository, commit.commit)
    except subprocess.CalledProcessError:
        git(*bare, "--", commit.repository, *_BRANCHES)


def _unpack(archive: Path, folder: Path, most_bytes: int) -> None:
    folder.mkdir()
    with tarfile.open(archive, "r:") as members:
        if sum(each.size for each in members) > most_bytes:
            raise ValueError(f"its files take more than {most_bytes} bytes")
        for each in members:
            if _leads_out(each):
                raise ValueError(f"{each.name!r} leads out of its folder")
        members.extractall(folder, **_FILTER)  # noqa: S202 - see above


def _leads_out(member: tarfile.TarInfo) -> bool:
    """Return whether a member, or what it links to, might lie outside its folder."""
    path = PurePosixPath(member.name)
    if not member.issym():
        return _climbs(path) or not (member.isfile() or member.isdir())
    to = PurePosixPath(member.linkname).parts
    up = next((number for number, part in enumerate(to) if part != ".."), len(to))
    # Behind another link, a step up would lead elsewhere.
    return _climbs(path) or up >= len(path.parts) or _climbs(PurePosixPath(*to[up:]))


def _climbs(path: PurePosixPath) -> bool:
    return path.is_absolute() or ".." in path.parts


def _why(exc: Exception) -> str:
    output = getattr(exc, "stderr", None)
    return (output or b"").decode(errors="replace").strip() or f"{type(exc).__name__}: {exc}"


def _public(text: str) -> str:
    """Return a text without the user and the password of an address."""
    return re.sub(r"(?<=://)[^/\s]*@", "", text)
