"""The file that holds a configuration."""

import csv
from pathlib import Path

import pytest
import yaml

from autotune import ConfigurationError, OutputError, load_configuration
from autotune.config import Configuration
from autotune.program import render
from autotune.reason import Message, Outcome
from autotune.result.files import FILES, trials_csv
from autotune.result.stored import (
    PICKLES,
    RESULT,
    SavedConfiguration,
    configuration_text,
    save_configuration,
)
from autotune.workload import Workload, factory_from_callable
from tests.answers import answer_of
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, fake_learning
from tests.trials import ended_trial
from tools.docs.samples import WORKLOAD

FACTS = {"learning": fake_learning(64.0), "model_takes": ("units",)}


def saved(workload: Workload = WORKLOAD) -> SavedConfiguration:
    configuration = Configuration(
        strategy="mirrored", replicas_per_worker=2, cache="memory", arguments=(("units", 8),)
    )
    alone = Configuration(per_replica_batch=64)
    rates = {alone: 80.0, configuration: 100.123456}
    trials = [
        ended_trial(n, configuration=c, examples_per_second=rate)
        for n, (c, rate) in enumerate(rates.items())
    ]
    return SavedConfiguration(
        autotune="0.1.0",
        configuration=configuration,
        answer=answer_of(trials, configuration, alone),
        margin=0.1,
        workload=workload,
        facts=FAKE_FACTS.model_copy(update=FACTS),
        machine=FAKE_MACHINE,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A saved configuration with its facts in another folder."""
    return put(tmp_path, saved())


def put(folder: Path, what: SavedConfiguration) -> Path:
    facts, path = folder / "out" / RESULT, folder / "config.yaml"
    facts.parent.mkdir()
    facts.write_text(what.model_dump_json(exclude=PICKLES))
    save_configuration(what, path, facts)
    return path


def test_what_is_written_is_read_again(path: Path) -> None:
    assert load_configuration(path) == load_configuration(str(path)) == saved()


def test_the_file_is_short_enough_to_be_committed() -> None:
    """It tells what was decided, how fast, and on what; no fact of the gradients is in it."""
    text = configuration_text(saved())
    read = yaml.safe_load(text)
    assert 15 <= len(text.splitlines()) <= 40
    assert read["configuration"] == {
        "strategy": "mirrored",
        "workers": 1,
        "per_replica_batch": 32,
        "replicas_per_worker": 2,
        "cache": "memory",
        "arguments": {"units": 8},
    }
    assert "examples_per_second: {low: 91.02, value: 100.1, high: 110.1}\n" in text
    assert read["measured_on"]["cores"] == FAKE_MACHINE.cpus
    assert read["workload"]["model_fn"] == WORKLOAD.model.short_name


def test_a_configuration_that_was_changed_counts_and_was_not_measured(path: Path) -> None:
    path.write_text(path.read_text().replace("per_replica_batch: 32", "per_replica_batch: 16"))
    read = load_configuration(path)
    assert read.configuration == saved().configuration.but(per_replica_batch=16)
    assert (read.global_batch, read.examples_per_second) == (32, None)
    assert read.facts == saved().facts


def test_the_program_can_be_rendered_from_the_file(tmp_path: Path) -> None:
    lam = factory_from_callable(lambda units=8: units)
    workload = Workload(model=lam, dataset=lam)
    known = saved(workload)
    read = load_configuration(put(tmp_path, known))
    assert not read.workload.model.pickled
    before = render(known.configuration, workload, known.facts, FAKE_MACHINE)
    assert render(read.configuration, read.workload, read.facts, read.machine) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strategy: mirrored", "config.yaml is not a saved configuration"),
        ("just words", "config.yaml is not a saved configuration"),
        (None, r"config\.yaml cannot be read"),
        ("[1, 2", "config.yaml cannot be parsed"),
        (
            "configuration: {}\nworkload: {}\nresult: no.json",
            "no.json cannot be read.*Keep it where",
        ),
        ("configuration: {}\nworkload: {}\nresult: out/result.json", "of another workload"),
        (
            "configuration: {batch: 3}\nworkload: {}\nresult: out/result.json",
            "is not what `autotune tune` writes: batch",
        ),
    ],
)
def test_a_bad_file_is_named(path: Path, text: str | None, said: str) -> None:
    """The message names the file and what is wrong with it; None: there is none."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=said):
        load_configuration(path)


@pytest.mark.parametrize("name", ["config.json", "nowhere/config.yaml"])
def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, name: str) -> None:
    """Another format or a folder that does not exist loses nothing but the file."""
    with pytest.raises(OutputError):
        save_configuration(saved(), tmp_path / name, tmp_path / RESULT)


@pytest.mark.parametrize("begins", ["=", "+", "-", "@"])
def test_a_table_of_trials_computes_nothing(begins: str) -> None:
    """In a spreadsheet a text of the program's that begins like a formula would be one."""
    odd = Message(text=f"{begins}cmd|'/c calc'!A1")
    table = trials_csv([ended_trial(outcome=Outcome.CRASHED, reason=odd)])
    (row,) = csv.DictReader(table.splitlines())
    assert row["reason"].startswith(f"'{begins}")


def test_the_pages_name_every_file() -> None:
    """Each file of a result is explained where a reader looks for it."""
    docs = Path(__file__).parents[3] / "docs"
    text = "".join((docs / name).read_text("utf-8") for name in ("report.md", "train.md"))
    assert [each.name for each in FILES if f"`{each.name}`" not in text] == []
