"""What `Model.fit` takes, a dataset factory may return."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest, trial_request
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.workload import BatchSource, Factory, OwnBatch, Workload, WorkloadFacts, own_batch
from tests.trials import stop_at_once

pytestmark = pytest.mark.real

PROGRAMS = Path(__file__).parent / "programs"
ROWS = {
    "in_a_list": "two_inputs",
    "in_a_dict": "named_inputs",
    "table": "dense",
    "ragged": "reader",
    "by_python": "dense",
    "features": "adversaries",
    "single_tensors": "adversaries",
    "with_validation": "dense",
    "with_remainder": "dense",
    "bucketed": "reader",
    "padded": "reader",
}
"""The model for each kind of data."""


def workload(data: str, model: str, **fields: object) -> Workload:
    made, read = (Factory(name=name, module="data", root=str(PROGRAMS)) for name in (model, data))
    return Workload(model=made, dataset=read, **fields)


@pytest.fixture
def trained(engine: LocalEngine, tmp_path: Path) -> Callable[..., WorkloadFacts]:
    """Return what gives the facts of a workload that can be trained."""

    def trained(given: Workload, **fields: object) -> WorkloadFacts:
        facts = engine.execute(InspectionRequest(given))
        configuration = Configuration(**{"per_replica_batch": 8, **fields})
        request = trial_request(configuration, given, facts, engine.machine(), tmp_path / "t")
        result = engine.execute(request, stop_at_once)
        assert result.outcome is Outcome.MEASURED, reason_text(result.reason)
        return facts

    return trained


@pytest.mark.parametrize("data", ROWS)
def test_what_fit_takes_trains_on_two_replicas(
    trained: Callable[..., WorkloadFacts], data: str
) -> None:
    """It is told apart, counted, and read by a program of a strategy."""
    facts = trained(workload(data, ROWS[data]), strategy="mirrored", replicas_per_worker=2)
    assert 0 < facts.examples <= 8 * 100


def test_images_of_a_folder(trained: Callable[..., WorkloadFacts], tmp_path: Path) -> None:
    """A short last batch, which programs do not read, counts as well."""
    for kind, images in (("cat", 4), ("dog", 40)):
        (tmp_path / "images" / kind).mkdir(parents=True)
        for number in range(images):
            Image.new("RGB", (4, 4)).save(tmp_path / "images" / kind / f"{number}.png")
    given = workload("folder", "of_images")
    arguments = (("path", str(tmp_path / "images")),)
    read = given.dataset.model_copy(update={"arguments": arguments})
    facts = trained(given.model_copy(update={"dataset": read}))
    assert (facts.examples, facts.returned.uneven) == (44, True)


def test_batches_are_taken_apart(trained: Callable[..., WorkloadFacts]) -> None:
    """Where autotune is asked to."""
    facts = trained(workload("batches", "dense", unbatch=True))
    assert (facts.examples, facts.usual_batch) == (100, 32)


def test_the_examples_of_an_endless_dataset_are_given(engine: LocalEngine) -> None:
    """Nobody can count them."""
    given = workload("endless", "dense", examples=100)
    assert engine.execute(InspectionRequest(given)).examples == 100


WHAT = ("alone", "threads", "others", "processes", "failing")
ENDINGS = ("out", "err", "status")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what each of the programs has printed, after one import of TensorFlow."""
    folder = tmp_path_factory.mktemp("workers")
    command = [sys.executable, PROGRAMS / "workers.py", *WHAT]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


@pytest.mark.parametrize("what", WHAT)
def test_batches_are_made_by_its_workers(told: Path, what: str) -> None:
    """As many threads or processes as it says, in the order of one."""
    output, errors, status = ((told / f"{what}.{each}").read_text() for each in ENDINGS)
    assert status == "0", errors
    if what == "failing":
        assert "the third batch" in output.splitlines()[0]
        # A process tells by itself what went wrong in it.
        assert "the third batch" in errors


def test_their_number_is_an_axis(trained: Callable[..., WorkloadFacts]) -> None:
    """The program that is timed has that many, of the dataset's own kind, whose batch is known."""
    facts = trained(workload("by_processes", "dense"), py_dataset_workers=2)
    assert facts.py_dataset
    assert own_batch(facts) == OwnBatch(30, BatchSource.DATASET)
