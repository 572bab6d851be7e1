"""`autotune spaces`, and `autotune machine` on one machine and on several, which are faked."""

import json
from pathlib import Path

import pytest
import yaml

from autotune.engine.ray_agent import Link
from autotune.space import ready_made
from tests.engines.fake import FAKE_MACHINE, FakeEngine, fake_machine

from .conftest import run, speed

ROOT = Path(__file__).parents[3]


class FakeCluster(FakeEngine):
    """Two machines, of which one may not be reached."""

    link: Link | None = Link(0.0005, 12.5e6)

    def links(self) -> dict[tuple[str, str], Link | None]:
        return {("10.1.0.1", "10.1.0.2"): self.link, ("10.1.0.2", "10.1.0.1"): self.link}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster(speed, machine=fake_machine(hosts=2))
    monkeypatch.setattr("autotune.engine.resolve.new_engine", lambda *_: fake)
    return fake


@pytest.mark.usefixtures("cluster")
def test_the_network_between_all_machines_is_shown() -> None:
    """Both ways, in the units of networks."""
    done = run("machine", "--engine", "ray")
    assert done.exit_code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("10.1.0.")]
    assert rows == [["10.1.0.1", "10.1.0.2", "0.5", "100"], ["10.1.0.2", "10.1.0.1", "0.5", "100"]]
    link = {"from": "10.1.0.1", "to": "10.1.0.2", "seconds": 0.0005, "bytes_per_second": 12.5e6}
    told = json.loads(run("machine", "--engine", "ray", "--json").stdout)
    assert told["links"][0] == link


def test_a_machine_that_is_not_reached_is_named(cluster: FakeCluster) -> None:
    """With what to do; nothing is said to be in order."""
    cluster.link = None
    done = run("machine", "--engine", "ray")
    assert done.exit_code not in (0, 1)
    assert "10.1.0.2 from 10.1.0.1" in done.stderr
    assert "Open all ports" in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("cluster")
def test_factories_are_called_on_the_machines() -> None:
    """What they give is told, and what a script gives; half of them is a wrong call."""
    done = run("machine", "--engine", "ray", "mine.py:model_fn", "mine.py:dataset_fn")
    assert done.exit_code == 0, done.stderr
    assert "All machines read" in done.stderr
    assert run("machine", "--engine", "ray", "mine.py:model_fn").exit_code == 2
    Path("train.py").write_text("model.fit(x, y)\n", encoding="utf-8")
    done = run("machine", "--engine", "ray", "train.py")
    assert done.exit_code == 0, done.stderr
    assert "Running the script on all machines" in done.stderr


def test_a_single_machine_is_no_cluster() -> None:
    Path("train.py").write_text("model.fit(x, y)\n", encoding="utf-8")
    done = run("machine", "train.py", "--engine", "local")
    assert done.exit_code == 2
    assert "--engine ray://" in done.stderr


def test_a_machine_is_a_table_or_json() -> None:
    """With the space that fits it."""
    text = " ".join(run("machine").stdout.split())
    assert "CPU 2 cores of fake memory 8 GiB GPUs none visible to TensorFlow" in text
    assert "space auto cpu" in text
    assert json.loads(run("machine", "--json").stdout) == FAKE_MACHINE.model_dump(mode="json")


def test_spaces_are_listed_and_one_is_shown_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands; only `auto` needs the machine. A wrong name gets the right ones."""
    monkeypatch.setenv("COLUMNS", "160")
    text = " ".join(run("spaces").stdout.split())
    assert all(f"{name} {space.description}" in text for name, space in ready_made().items())
    done = run("spaces", "quick")
    assert done.stdout == (ROOT / "search_spaces/quick.yaml").read_text("utf-8")
    assert "Inspecting the machine" not in done.stderr
    done = run("spaces", "auto")
    assert yaml.safe_load(done.stdout)["name"] == "cpu"
    assert "Inspecting the machine" in done.stderr
    done = run("spaces", "nosuch")
    assert (done.exit_code, "multi_worker" in done.stderr) == (2, True)
