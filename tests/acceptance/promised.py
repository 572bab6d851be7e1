"""Machines without any clock of their own, on which an answer can be compared with the truth."""

from tests.engines.fake import FakeEngine, fake_learning


def flat() -> FakeEngine:
    """Return one on which no setting of one device gains anything, and runs differ by 15 %."""
    return FakeEngine(lambda c: 600.0 if c.distributed else 1000.0, between=0.15)


def slow() -> FakeEngine:
    """Return one on which the first call of a model's step takes 40 s."""
    return FakeEngine(lambda c: 600.0 if c.distributed else 1000.0, tracing=40.0)


def learning() -> FakeEngine:
    """Return one on which larger batches gain as much as they lose by what an example teaches."""
    return FakeEngine(
        lambda c: 1000.0 * c.global_batch**0.5 * (0.7 if c.distributed else 1.0),
        between=0.15,
        learning=fake_learning(30.0),
    )
