"""The installed service over real HTTP, on an engine that takes no time."""

import json
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from autotune import Client, Result, SearchOptions, TrialEnded, load_configuration
from tests.service import Serving, running
from tests.waiting import until

from .conftest import DIGITS, Run

SHORT = SearchOptions(max_trials=3)


@pytest.fixture(scope="module")
def serving(project: Path) -> Iterator[Serving]:
    """A service that several tests use, and none ends; others may read its folder before."""
    (project / "autotune-service").mkdir(mode=0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with running(project, "--port", port) as service:
        yield service


@pytest.fixture
def apart(project: Path, tmp_path: Path) -> Path:
    """A project folder in which nothing was served yet."""
    shutil.copytree(project / "examples", tmp_path / "examples")
    return tmp_path


def test_a_job_looks_at_learning_as_the_command_does(
    serving: Serving, run: Run, tmp_path: Path
) -> None:
    """The same search finds the same, and gives the same reasons."""
    limits = ("--space", "quick", "--max-trials", "30", "--budget", "10min")
    here = run("tune", *DIGITS, *limits, "--engine", "serving:engine", "--out", tmp_path, "--json")
    assert here.returncode == 0, here.stderr
    where = serving.ask(max_trials=30, budget=600, objective="time_to_loss")
    serving.wait_for(where, "done")
    there = serving.client.get(f"{where}/recommendation").json()
    found = json.loads(here.stdout)
    told = [each for each in found["reasons"] if "predicted from gradients" in each]
    assert told
    assert set(told) <= set(there["reasons"])
    same = ("verdict", "configuration")
    assert [there[name] for name in same] == [found[name] for name in same]


def test_a_worker_that_dies_is_started_again(serving: Serving) -> None:
    workers = [each for each in serving.family() if "worker" in each.cmdline()]
    assert len(workers) == 1
    workers[0].kill()
    serving.wait_for(serving.ask(), "done")
    assert "The worker was terminated by signal 9; restarting." in serving.log.read_text()


def test_the_log_holds_no_secret(serving: Serving) -> None:
    """Neither the key nor what it is sent with."""
    assert serving.client.get("/v1/tunings").status_code == 200
    text = serving.log.read_text()
    assert "Request answered." in text
    assert serving.client.headers["authorization"].split()[1] not in text
    assert "Traceback" not in text


def test_nothing_is_left_after_a_kill_of_the_supervisor_or_ctrl_c(apart: Path) -> None:
    """After a kill a second start prints no key, because the first one is good.

    After Ctrl-C a follower is let go, and the exit code is 0.
    """
    with running(apart) as first:
        family = first.family()[1:]
        assert len(family) >= 2
        first.process.kill()
        _, alive = psutil.wait_procs(family, timeout=120)
        assert alive == []
    with running(apart, key_file=first.key_file) as second:
        where = second.ask(max_trials=None, space="cpu")
        until(lambda: second.job(where)["trials"] > 0)
        family = second.family()
        with second.client.stream("GET", f"{where}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines)
            second.process.send_signal(signal.SIGINT)
            assert [*lines]
        assert second.process.wait(300) == 0
        _, alive = psutil.wait_procs(family, timeout=120)
        assert alive == []
        assert second.process.stdout
        assert second.process.stdout.read() == ""


def test_nobody_else_reads_the_files(serving: Serving) -> None:
    """Not even where somebody more generous made the folder, as for a container or a unit."""
    folder = serving.key_file.parent
    serving.wait_for(serving.ask(), "done")
    made = [each for each in folder.rglob("*") if not each.is_symlink()]
    assert {"service.db", "first-key", "search.log"} <= {each.name for each in made}
    assert [each for each in made if each.stat().st_mode & 0o077] == []


def test_the_client_brings_what_a_search_here_would_bring(serving: Serving, tmp_path: Path) -> None:
    """Events as they come, the result, and its files."""
    with Client(serving.url, serving.key) as client:
        job = client.submit("digits", {"filters": 16}, space="quick", budget=180, options=SHORT)
        kinds = [each.body.kind for each in client.follow(job)]
        result = client.result(job)
        folder = client.download(job, tmp_path / "out")
        assert any("digits" in each.workloads for each in client.workers())
    assert (kinds[0], kinds[-1]) == ("queued", "ended")
    assert kinds.count("trial_ended") == len(result.trials) > 0
    assert result.workload.model.arguments == (("filters", 16),)
    assert all(trial.windows for trial in result.trials if trial.measured)
    assert Result.load(folder) == result
    where = f"/v1/tunings/{job.id}"
    files = {part: serving.client.get(f"{where}/{part}").text for part in ("script", "report")}
    assert (folder / "train.py").read_text("utf-8") == files["script"] == result.script
    assert files["report"].startswith("<!doctype html>")
    told = serving.job(f"{where}/recommendation")
    for name, part in {"config.yaml": "config", "result.json": "result"}.items():
        (tmp_path / name).write_bytes(serving.client.get(f"{where}/{part}").content)
    saved = load_configuration(tmp_path / "config.yaml").configuration
    assert saved.model_dump(mode="json") == told["configuration"]


def test_a_follower_outlives_the_api(serving: Serving) -> None:
    numbers = []
    with Client(serving.url, serving.key) as client:
        job = client.submit("digits", space="cpu", budget=180, options=SHORT)
        for event in client.follow(job):
            numbers.append(event.number)
            if isinstance(event.body, TrialEnded) and event.body.trial.number == 0:
                api = [each for each in serving.family() if "api" in each.cmdline()]
                api[0].kill()
        assert numbers == [*range(1, client.job(job).events + 1)]


def test_a_job_is_submitted_watched_and_fetched(
    serving: Serving, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by a command, with address and key from the environment; it writes all files.

    What is fetched into a folder without the code says what it lacks, and nothing names an option
    that only another face has.
    """
    monkeypatch.setenv("AUTOTUNE_URL", serving.url)
    monkeypatch.setenv("AUTOTUNE_API_KEY", serving.key)
    turn = ("--need", "devices=1", "--priority", "-2")
    limits = ("--space", "quick", "--max-trials", "3")
    made = run("submit", "digits", *limits, "--param", "filters=16", *turn)
    assert made.returncode == 0, made.stderr
    job = made.stdout.strip()
    watched = run("watch", job)
    assert watched.returncode == 0, watched.stderr
    assert "one device, batch" in watched.stderr
    *_, settings, fetch = watched.stderr.splitlines()
    assert settings.startswith("Settings: ")
    assert f"autotune fetch {job} --url " in fetch
    fetched = run("fetch", job, "--out", tmp_path, "--json")
    assert json.loads(fetched.stdout)["workload"]["model"]["arguments"] == [["filters", 16]]
    apart = run("fetch", job, folder=tmp_path)
    assert "# first put examples/digits.py here" in apart.stdout
    told = json.dumps(serving.job(f"/v1/tunings/{job}")) + watched.stderr + apart.stdout
    assert not re.search(r"--(?!url|epochs|budget|train-for)[a-z]|same command", told)
    assert load_configuration(tmp_path / "config.yaml").workload.model.arguments
    assert (tmp_path / "train.py").is_file()
    asked = serving.job(f"/v1/tunings/{job}")
    assert (asked["needs"]["devices"], asked["priority"]) == (1, -2)
