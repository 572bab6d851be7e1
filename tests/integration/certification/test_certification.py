"""Real trainings: the right ones pass, and each mistake is found by its check."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.checks import replicas, trajectory
from autotune.checks.certificate import Certificate, Finding
from autotune.checks.certify import Candidate, certify
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.reason.sentences import check_text
from autotune.workload import Workload, WorkloadFacts, factory_from_text

pytestmark = pytest.mark.real

PROGRAMS = Path(__file__).parent / "programs"
MIRRORED = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=16, reduction="one_device"
)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=16, shard_policy="data"
)
SOURCE = GANG.but(shard_policy="source")
LOOP = MIRRORED.but(reduction="default", steps_per_execution=8)
SHUFFLED = {"repeatable": False}
SHARDED = {"dataset_takes": ("input_context",)}
Certifier = Callable[..., Certificate]


@pytest.fixture
def certified(engine: LocalEngine, tmp_path: Path) -> Certifier:

    def run(
        model: str,
        dataset: str,
        configuration: Configuration,
        arguments: dict[str, Any] | None = None,
        **facts: Any,
    ) -> Certificate:
        workload = Workload(
            model=factory_from_text(f"{PROGRAMS}/{model}"),
            dataset=factory_from_text(f"{PROGRAMS}/{dataset}", arguments),
        )
        known = WorkloadFacts(**{"examples": 256, "example_bytes": 100, "repeatable": True} | facts)
        candidate = Candidate(
            configuration=configuration,
            workload=workload,
            facts=known,
            machine=engine.machine(),
            rate=1_000.0,
        )
        return certify(engine, candidate, tmp_path)

    return run


@pytest.mark.parametrize(
    ("model", "dataset", "configuration", "facts"),
    [
        ("recurrent", "shuffled", LOOP, SHUFFLED),
        ("noisy", "shuffled", GANG, SHUFFLED),
        ("plain", "sharded", SOURCE.but(intra_op_parallelism_threads=1), SHARDED),
    ],
    ids=["a loop of several steps", "data", "source, set before TensorFlow starts"],
)
def test_a_right_training_passes_every_check(
    certified: Certifier,
    model: str,
    dataset: str,
    configuration: Configuration,
    facts: dict[str, Any],
) -> None:
    """Dropout, normalization, recurrence, duplicates and shuffling raise no false alarm."""
    certificate = certified(f"right.py:{model}", f"right.py:{dataset}", configuration, **facts)
    assert {each.finding for each in certificate.checks} == {Finding.PASSED}, certificate


def test_files_divide_the_examples(certified: Certifier, tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).standard_normal((256, 4 * 6)).astype(np.float32)
    for number, part in enumerate(np.split(numbers, 2)):
        part.tofile(tmp_path / f"{number}.bin")
    arguments = {"folder": str(tmp_path)}
    file = GANG.but(shard_policy="file")
    certificate = certified("right.py:plain", "right.py:from_files", file, arguments)
    assert {each.finding for each in certificate.checks} == {Finding.PASSED}, certificate


def test_augmentation_is_no_alarm(certified: Certifier) -> None:
    """Examples that change in every pass leave one check open, and nothing else."""
    programs = "right.py:plain", "right.py:augmented"
    certificate = certified(*programs, SOURCE, **SHARDED, **SHUFFLED)
    found = {each.name: each.finding for each in certificate.checks}
    assert Finding.FAILED not in found.values()
    assert found[replicas.EXAMPLES] is Finding.UNDECIDED


UNLIKE = (replicas.SIZES, replicas.ELEMENTS)
TAKEN = {"data": (), "unlike": ("batch_size", "input_context")}
"""What the datasets declare; the others know only of the share of their worker."""


@pytest.mark.parametrize(
    ("model", "dataset", "configuration", "name", "words"),
    [
        # A factory that asks for its share and ignores it gives every worker the same.
        ("right", "ignoring", SOURCE, replicas.EXAMPLES, "read the same 128 of 256 examples"),
        # Gradients that together are twice too large are found, even where the steps hide it.
        ("wrong_average", "data", MIRRORED, trajectory.NAME, ""),
        # A generator that is made too late to be told apart draws the same on every replica.
        ("late_dropout", "data", MIRRORED, replicas.RANDOM, ""),
        # The others have consequences that further checks may see.
        ("right", "unlike", SOURCE, UNLIKE, "Replica 1 got a batch of 17"),
        ("drifting", "data", GANG, (replicas.EQUAL,), ""),
        ("own_start", "data", GANG, (replicas.START,), ""),
        ("elsewhere", "data", MIRRORED, (replicas.PLACES,), "is on one device only"),
    ],
)
def test_a_mistake_is_found_by_its_check(
    certified: Certifier,
    model: str,
    dataset: str,
    configuration: Configuration,
    name: str | tuple[str, ...],
    words: str,
) -> None:
    """And by no other, unless it has consequences; the reason says what happened."""
    takes = TAKEN.get(dataset, SHARDED["dataset_takes"])
    programs = f"wrong.py:{model}", f"wrong.py:{dataset}"
    certificate = certified(*programs, configuration, dataset_takes=takes)
    found = {each.name for each in certificate.checks if each.finding is Finding.FAILED}
    assert found >= {*name} if isinstance(name, tuple) else found == {name}
    assert words in " ".join(map(check_text, certificate.failures))
