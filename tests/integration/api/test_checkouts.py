"""Workloads whose code is in git: real repositories, fetched by the real command."""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.api.requests import JobRequest
from autotune.api.settings import Settings
from autotune.api.states import State
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work.checkouts import Checkouts
from autotune.api.work.worker import Worker
from autotune.api.workloads import Commit, Declared

Commits = Callable[..., Commit]
GIT = shutil.which("git") or "git"
FACTORIES = "def model_fn(): ...\ndef dataset_fn(): ...\n"


@pytest.fixture
def commit(tmp_path: Path) -> Commits:
    repository = tmp_path / "their models"
    repository.mkdir()
    _git(repository, "init", "--quiet", "--initial-branch=main")

    def made(**files: str) -> Commit:
        for name, text in files.items():
            (repository / f"{name}.py").write_text(text)
        _git(repository, "add", "--all")
        _git(repository, "commit", "--quiet", "--allow-empty", "--message=Change")
        return Commit(
            repository=f"file://{str(repository).replace(' ', '%20')}",
            commit=_git(repository, "rev-parse", "HEAD"),
        )

    return made


def _git(folder: Path, *arguments: str) -> str:
    own = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    ran = subprocess.run(
        [GIT, *own, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return ran.stdout.strip()


def _repository(commit: Commit) -> Path:
    return Path(commit.repository.removeprefix("file://").replace("%20", " "))


def _fetched(made: Commit, place: Path, *most: int) -> Path | None:
    checkouts = Checkouts(place / "checkouts", *most)
    checkouts.fetch([made])
    return checkouts.of(made)


def test_each_commit_has_a_folder_of_its_own(commit: Commits, tmp_path: Path) -> None:
    first, second = commit(toy="one = 1"), commit(toy="two = 2")
    checkouts = Checkouts(tmp_path / "checkouts")
    checkouts.fetch([first, second])
    found = [checkouts.of(each) for each in (first, second)]
    assert [(each / "toy.py").read_text() for each in found if each] == ["one = 1", "two = 2"]
    assert not [each for each in (tmp_path / "checkouts").iterdir() if each.name[0] == "."]


@pytest.mark.parametrize("wrong", ["commit", "repository"])
def test_what_cannot_be_had_is_said_and_leaves_nothing(
    commit: Commits, tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    """Others have their turn next, and its own come ever later: each may take a minute."""
    right = commit(toy="one = 1")
    other = {"commit": "0" * 40, "repository": f"file://{tmp_path}/nothing"}
    missing = right.model_copy(update={wrong: other[wrong]})
    now = 0.0
    checkouts = Checkouts(tmp_path / "checkouts", clock=lambda: now)
    with caplog.at_level(logging.ERROR):
        checkouts.fetch([missing, right])
        assert checkouts.of(right) is None
        checkouts.fetch([missing, right])
    assert (checkouts.of(missing), checkouts.of(right) is None) == (None, False)
    assert len(list((tmp_path / "checkouts").iterdir())) == 1
    assert [each.fields["commit"] for each in caplog.records] == [missing.commit]
    for later in (61.0, 122.0, 182.0):
        now = later
        checkouts.fetch([missing])
    assert len(caplog.records) == 3


def test_nothing_of_a_repository_runs(commit: Commits, tmp_path: Path) -> None:
    """Neither its hooks, nor a filter that it asks for, nor a submodule's address."""
    ran = tmp_path / "ran"
    made = commit(toy="one = 1")
    repository = _repository(made)
    (repository / ".gitattributes").write_text("*.py filter=theirs\n")
    (repository / ".gitmodules").write_text(
        f'[submodule "x"]\n\tpath = x\n\turl = ext::touch {ran}\n'
    )
    for name in ("post-checkout", "post-merge", "reference-transaction"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    _git(repository, "config", "filter.theirs.smudge", f"touch {ran}; cat")
    made = commit()
    ran.unlink(missing_ok=True)
    folder = _fetched(made, tmp_path)
    assert folder is not None
    assert (folder / "toy.py").read_text() == "one = 1"
    assert not ran.exists()
    assert not (folder / ".git").exists()


def test_files_come_as_they_are_in_the_commit(
    commit: Commits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the repository says of them, and whatever git is told on this host."""
    ran, own = tmp_path / "ran", tmp_path / "gitconfig"
    written = {"toy": "one = 1\n", "left": "two = 2\n", "named": "# $Format:%an$ $Id$\n"}
    made = commit(**written)
    asked = "*.py text eol=crlf filter=ours ident\nleft.py export-ignore\nnamed.py export-subst\n"
    (_repository(made) / ".gitattributes").write_text(asked)
    made = commit()
    # The repository cannot bring a filter along, but name one that this host has.
    own.write_text(f'[filter "ours"]\n\tsmudge = touch {ran}; cat\n[core]\n\tautocrlf = true\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    folder = _fetched(made, tmp_path)
    assert {each.stem: each.read_bytes().decode() for each in folder.glob("*.py")} == written
    assert not ran.exists()


@pytest.mark.parametrize("user", ["anna:s3cret@", "s3cret@", "anna:s3@cret@"])
def test_the_log_has_no_password_of_a_repository(
    user: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost = Commit(repository=f"https://{user}127.0.0.1:1/models.git", commit="0" * 40)
    with caplog.at_level(logging.ERROR):
        _fetched(lost, tmp_path)
    assert "repository=https://127.0.0.1:1/models.git" in caplog.text
    assert "s3" not in caplog.text
    assert "cret" not in caplog.text


LEADING_OUT = ("/etc/passwd", "../../../service.db", "here/../../service.db", "..")


@pytest.mark.parametrize("target", LEADING_OUT)
def test_a_link_out_of_the_folder_is_refused(commit: Commits, tmp_path: Path, target: str) -> None:
    repository = _repository(commit())
    (repository / "data.py").symlink_to(target)
    assert _fetched(commit(), tmp_path) is None


def test_a_commit_that_is_too_large_is_refused(commit: Commits, tmp_path: Path) -> None:
    made = commit(toy="#" * 2000)
    assert _fetched(made, tmp_path / "small", 1000) is None
    assert _fetched(made, tmp_path / "large", 3000) is not None


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_job_runs_the_code_of_its_commit(
    database: Database,
    settings: Settings,
    asked: JobRequest,
    commit: Commits,
) -> None:
    """It goes to no worker before the files are there, and tells which code it measured."""
    made = commit(toy=FACTORIES)
    declared = Declared(
        model="toy.py:model_fn",
        dataset="toy.py:dataset_fn",
        repository=made.repository,
        commit=made.commit,
    )
    own = settings.model_copy(update={"workloads": {"digits": declared}})
    worker, jobs = Worker(database, own), Jobs(database, own.registry(), own.quotas)
    job = jobs.submit(asked.model_copy(update={"params": {}}), "me")
    assert not worker.run_one()
    worker._fetch()
    assert worker.run_one()
    ended = jobs.get(job.id, None)
    assert ended.state is State.DONE, ended.reason
    script = jobs.recommendation(job.id, None).script
    assert f"-{made.commit}" in script  # the folder that its factories are imported from
    assert ended.code == own.registry()["digits"].code(own.root)
