"""A certificate is drawn from two runs of an engine."""

from pathlib import Path

import pytest

from autotune.checks.certificate import Certificate, Finding
from autotune.checks.certify import Candidate, certify, family
from autotune.config import Configuration
from autotune.engine.tasks import Observation, ObservationRequest
from autotune.reason import Raised
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from tools.docs.samples import WORKLOAD

WORKERS = Configuration(
    strategy="multi_worker_mirrored", workers=2, shard_policy="data", per_replica_batch=64
)
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)


def engine() -> FakeEngine:
    return FakeEngine(lambda _: 1000.0)


def certified(
    engine: FakeEngine, configuration: Configuration, rate: float = 10_000.0
) -> Certificate:
    candidate = Candidate(
        configuration=configuration,
        workload=WORKLOAD,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        rate=rate,
    )
    return certify(engine, candidate, Path("unused"))


@pytest.mark.parametrize("configuration", [WORKERS, MIRRORED], ids=["workers", "replicas"])
def test_a_sound_training_passes_every_check(configuration: Configuration) -> None:
    certificate = certified(engine(), configuration)
    assert {each.finding for each in certificate.checks} == {Finding.PASSED}
    assert certificate.failures == ()
    assert certificate.line.startswith("Certified: disjoint examples, equal batch sizes")
    assert certificate.seconds > 0


@pytest.mark.parametrize(("error", "refused"), [("ValueError", True), ("MemoryError", False)])
def test_what_one_device_cannot_train_at_all_is_refused(error: str, *, refused: bool) -> None:
    fake = engine()
    observe = fake.observe

    def alone_fails(request: ObservationRequest) -> Observation:
        why = Raised(error=error, message="shapes (64, 8) and (128, 8) differ")
        return Observation(failure=why) if request.reference_to else observe(request)

    fake.observe = alone_fails
    certificate = certified(fake, MIRRORED)
    assert bool(certificate.failures) is refused
    assert certificate.failures or certificate.undecided


def test_the_reference_takes_the_same_steps() -> None:
    fake = engine()
    certified(fake, WORKERS.but(steps_per_execution=4))
    mine, alone = fake.observed
    assert alone.trial.configuration.global_batch == mine.trial.configuration.global_batch
    assert alone.trial.configuration.steps_per_execution == 4
    assert (alone.calls, alone.processes) == (mine.calls, 2)
    assert alone.reference_to == mine.trial.folder


def test_no_more_is_read_than_time_and_an_epoch_allow() -> None:
    """Steps of seconds take the fewest calls; within an epoch nothing comes round again."""
    fake = engine()
    certified(fake, WORKERS, rate=64.0)
    certified(fake, WORKERS.but(per_replica_batch=3000))
    slow, _, large, _ = fake.observed
    assert (slow.calls, slow.reads) == (2, 1)
    assert large.reads * 6000 <= (FAKE_FACTS.examples or 0)
    assert 1 <= large.kept <= large.reads


def test_speed_alone_makes_no_other_family() -> None:
    """Batch, prefetch and the number of steps per call change nothing that is checked."""
    assert family(WORKERS) == family(WORKERS.but(per_replica_batch=8, prefetch=2))
    several = family(WORKERS.but(steps_per_execution=8))
    assert several == family(WORKERS.but(steps_per_execution=32)) != family(WORKERS)
    assert family(WORKERS) != family(WORKERS.but(shard_policy="auto"))
