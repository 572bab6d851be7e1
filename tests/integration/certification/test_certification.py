"""Real trainings: the right ones pass, and each mistake is found by its check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.checks import replicas, trajectory
from autotune.checks.certificate import Certificate, Finding
from autotune.checks.certify import RUN
from autotune.config import Configuration
from autotune.reason.sentences import check_text

from .conftest import GANG, MIRRORED, Certifier, check

pytestmark = pytest.mark.real

SOURCE = GANG.but(shard_policy="source")
LOOP = MIRRORED.but(reduction="default", steps_per_execution=8)
SHUFFLED = {"repeatable": False}
SHARDED = {"dataset_takes": ("input_context",)}


def failures(certificate: Certificate) -> set[str]:
    return {each.name for each in certificate.checks if each.finding is Finding.FAILED}


@pytest.mark.parametrize(
    ("model", "dataset", "configuration", "facts"),
    [
        ("noisy", "shuffled", MIRRORED, SHUFFLED),
        ("recurrent", "shuffled", LOOP, SHUFFLED),
        ("noisy", "shuffled", GANG, SHUFFLED),
        ("plain", "sharded", SOURCE.but(intra_op_parallelism_threads=1), SHARDED),
    ],
    ids=["Keras's fit", "a loop of several steps", "data", "source, set before TensorFlow starts"],
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
    """Workers that read files of their own read examples of their own."""
    numbers = np.random.default_rng(0).standard_normal((256, 4 * 6)).astype(np.float32)
    for number, part in enumerate(np.split(numbers, 2)):
        part.tofile(tmp_path / f"{number}.bin")
    arguments = {"folder": str(tmp_path)}
    file = GANG.but(shard_policy="file")
    certificate = certified("right.py:plain", "right.py:from_files", file, arguments)
    assert {each.finding for each in certificate.checks} == {Finding.PASSED}, certificate


def test_augmentation_is_no_alarm(certified: Certifier) -> None:
    """Examples that change in every pass leave one check open, and nothing else."""
    facts = SHARDED | SHUFFLED
    certificate = certified("right.py:plain", "right.py:augmented", SOURCE, **facts)
    assert not failures(certificate)
    assert check(certificate, replicas.EXAMPLES).finding is Finding.UNDECIDED


def test_workers_that_read_everything_are_found(certified: Certifier) -> None:
    """A factory that asks for its share and ignores it gives every worker the same."""
    certificate = certified("wrong.py:right", "wrong.py:ignoring", SOURCE, **SHARDED)
    assert failures(certificate) == {replicas.EXAMPLES}
    assert "read the same 128 of 256 examples" in " ".join(map(check_text, certificate.failures))


def test_unlike_batches_are_found(certified: Certifier) -> None:
    """Workers whose batches differ in size and type are out for both."""
    facts = {"dataset_takes": ("batch_size", "input_context")}
    certificate = certified("wrong.py:right", "wrong.py:unlike", SOURCE, **facts)
    assert failures(certificate) >= {replicas.SIZES, replicas.ELEMENTS}
    assert "Replica 1 got a batch of 17" in " ".join(map(check_text, certificate.failures))


def test_drifting_workers_are_found(certified: Certifier) -> None:
    """Workers that apply their own gradients only do not stay equal."""
    certificate = certified("wrong.py:drifting", "wrong.py:data", GANG)
    assert replicas.EQUAL in failures(certificate)


def test_weights_that_nobody_agreed_on_are_found(certified: Certifier) -> None:
    """Workers that set their first weights by themselves start from different ones."""
    certificate = certified("wrong.py:own_start", "wrong.py:data", GANG)
    assert replicas.START in failures(certificate)


@pytest.mark.parametrize("model", ["wrong_average", "wrong_average_adam"])
def test_a_loss_averaged_over_the_replica_is_found(certified: Certifier, model: str) -> None:
    """Gradients that together are twice too large are found, even where the steps hide it."""
    certificate = certified(f"wrong.py:{model}", "wrong.py:data", MIRRORED)
    assert failures(certificate) == {trajectory.NAME}


def test_equal_random_numbers_are_found(certified: Certifier) -> None:
    """A generator that is made too late to be told apart draws the same on every replica."""
    certificate = certified("wrong.py:late_dropout", "wrong.py:data", MIRRORED)
    assert failures(certificate) == {replicas.RANDOM}


def test_a_variable_on_one_device_is_found(certified: Certifier) -> None:
    """What was made outside of the scope has no copy on the other replicas."""
    certificate = certified("wrong.py:elsewhere", "wrong.py:data", MIRRORED)
    assert replicas.PLACES in failures(certificate)
    assert "is on one device only" in " ".join(map(check_text, certificate.failures))


def test_a_worker_that_dies_is_told(certified: Certifier) -> None:
    """A training that cannot be looked at may not win, and the reason says what happened."""
    certificate = certified("wrong.py:right", "wrong.py:deadly", SOURCE, **SHARDED)
    assert failures(certificate) == {RUN}
    assert "Worker 1 was killed by SIGKILL" in " ".join(map(check_text, certificate.failures))
