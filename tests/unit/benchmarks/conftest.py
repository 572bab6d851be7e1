"""What holds for all tests of the benchmarks."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Small matrices on several threads mostly wait, the more the busier the machine is."""
    with threadpool_limits(1, user_api="blas"):
        yield
