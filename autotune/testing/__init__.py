"""For tests of whatever stands on autotune: an engine that needs no machine, and the contract."""

from autotune.testing.fake import (
    FAKE_FACTS,
    FAKE_MACHINE,
    Ending,
    FakeEngine,
    fake_machine,
    table,
)

__all__ = [
    "FAKE_FACTS",
    "FAKE_MACHINE",
    "Ending",
    "FakeEngine",
    "fake_machine",
    "table",
]
