"""For tests of whatever stands on autotune: an engine that needs no machine, and the contract."""

from autotune.testing.fake import (
    FAKE_FACTS as FAKE_FACTS,
    FAKE_MACHINE as FAKE_MACHINE,
    Ending as Ending,
    FakeEngine as FakeEngine,
    fake_machine as fake_machine,
    table as table,
)
