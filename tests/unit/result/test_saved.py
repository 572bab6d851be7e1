"""The file that holds a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autotune import ConfigurationError, Interval, OutputError, Verdict, load_configuration
from autotune.config import Configuration
from autotune.program import render
from autotune.result.saved import SavedConfiguration, save_configuration
from autotune.testing import FAKE_FACTS, FAKE_MACHINE
from autotune.testing.fake import fake_learning
from autotune.workload import Workload, factory_from_callable


def saved(workload: Workload) -> SavedConfiguration:
    configuration = Configuration(strategy="mirrored", replicas_per_worker=2, cache="memory")
    return SavedConfiguration(
        autotune="0.1.0",
        verdict=Verdict.DISTRIBUTE,
        configuration=configuration,
        one_device=Configuration(per_replica_batch=64),
        best_distributed=configuration,
        margin=0.1,
        examples_per_second=Interval(low=90, value=100, high=110),
        best_distributed_speedup=Interval(low=1.1, value=1.2, high=1.3),
        workload=workload,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        seed=0,
    )


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".toml"])
def test_what_is_written_is_read_again(tmp_path: Path, workload: Workload, suffix: str) -> None:
    """All three formats hold everything, what a later check needs among it."""
    path = tmp_path / f"config{suffix}"
    save_configuration(saved(workload), path)
    assert load_configuration(path) == load_configuration(str(path)) == saved(workload)


def test_the_program_can_be_rendered_from_the_file(tmp_path: Path) -> None:
    """A function shipped by value is kept as text: the program comes out the same."""
    lam = factory_from_callable(lambda units=8: units)
    workload = Workload(model=lam, dataset=lam)
    path = tmp_path / "config.yaml"
    save_configuration(saved(workload), path)
    read = load_configuration(path)
    assert not read.workload.model.pickled
    before = render(saved(workload).configuration, workload, FAKE_FACTS, FAKE_MACHINE)
    assert render(read.configuration, read.workload, read.facts, read.machine) == before


def test_what_gradients_told_takes_few_lines_and_may_take_many(
    tmp_path: Path, workload: Workload
) -> None:
    """Each estimate is written as one mapping, and the form of one line for each name is read."""
    facts = FAKE_FACTS.model_copy(update={"learning": fake_learning(64.0)})
    learned, path = saved(workload).model_copy(update={"facts": facts}), tmp_path / "config.yaml"
    save_configuration(learned, path)
    text = path.read_text()
    assert text.count("{trace: 64.0, square: 1.0, progress: [") == 9
    assert load_configuration(path) == learned
    long = yaml.safe_dump(yaml.safe_load(text), default_flow_style=False)
    assert "trace: 64.0\n" in long
    path.write_text(long)
    assert load_configuration(path) == learned


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.yaml", "strategy: mirrored", "not a saved configuration"),
        ("config.yaml", "[1, 2", "cannot be parsed"),
        ("config.json", "{", "cannot be parsed"),
        ("config.toml", "=", "cannot be parsed"),
        ("config.txt", "", "file extension"),
        ("config.yaml", None, "cannot be read"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    """The message names the file and what is wrong with it."""
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_configuration(path)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["config", "nowhere/config.yaml"])
def test_a_place_that_cannot_be_written_is_an_error(
    tmp_path: Path, workload: Workload, name: str
) -> None:
    """An unknown format or a folder that does not exist loses nothing but the file."""
    with pytest.raises(OutputError):
        save_configuration(saved(workload), tmp_path / name)
