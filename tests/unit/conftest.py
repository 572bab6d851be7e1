"""What holds for all unit tests."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from autotune.search import posterior

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
PROCESSES = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""Audit events of starting a process."""
_forbidden: list[str] = []
"""The unit test that runs, if one does."""


class ProcessStarted(AssertionError):
    """A unit test started a process; it belongs into tests/integration."""


def _forbid(event: str, arguments: tuple[object, ...]) -> None:
    if event in PROCESSES and _forbidden:
        raise ProcessStarted(f"{_forbidden[-1]}: {event}{arguments[:2]}")


sys.addaudithook(_forbid)


@pytest.fixture(autouse=True)
def no_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Unit tests start no process: whoever wants one stands under tests/integration."""
    _forbidden.append(request.node.nodeid)
    yield
    _forbidden.clear()


@pytest.fixture(autouse=True)
def rough_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws the posterior roughly, which is quicker; whoever tests it overrides this."""
    monkeypatch.setattr(posterior, "WALKERS", 32)
    monkeypatch.setattr(posterior, "STEPS", 4)
