"""What tests with real processes share."""

from collections.abc import Iterator

import pytest

from autotune.engine.local import LocalEngine


@pytest.fixture(scope="session")
def engine() -> Iterator[LocalEngine]:
    """One engine for all, because importing TensorFlow takes seconds."""
    with LocalEngine() as engine:
        yield engine
