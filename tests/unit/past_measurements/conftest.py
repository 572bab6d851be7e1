"""A database of past measurements in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.past_measurements import Measured, PastMeasurements, Session
from autotune.stats import Noise
from autotune.trial import Stage

MACHINE, WORKLOAD = "machine00000", "workload0000"
ALONE = Configuration()
LARGE = Configuration(per_replica_batch=128)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)

Sessions = Callable[..., Session]


def measured(configuration: Configuration, rate: float, session: str = "a") -> Measured:
    return Measured(
        session=session,
        configuration=configuration,
        examples_per_second=rate,
        stage=Stage.EXPLORE,
    )


def session(
    name: str = "a", *, ended: float = 1.0, rate: float = 100.0, **other: object
) -> Session:
    """Return a search that measured two configurations."""
    fields = {
        "id": name,
        "ended": ended,
        "machine": MACHINE,
        "workload": WORKLOAD,
        "noise": Noise(sd=0.1, degrees=2.0),
        "measured": (measured(ALONE, rate, name), measured(TWO, rate * 1.5, name)),
    }
    return Session.model_validate(fields | other)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The database, which does not exist yet; its folder has a name that URLs do not like."""
    return tmp_path / "what? a#folder %20" / "measurements.db"


@pytest.fixture
def told() -> list[str]:
    """What the user was told."""
    return []


@pytest.fixture
def past(file: Path, told: list[str]) -> PastMeasurements:
    """An empty store."""
    return PastMeasurements(file, told.append)
