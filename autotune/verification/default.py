"""What Keras does by itself."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.value import Scalar
from autotune.workload import WorkloadFacts


def default_for(
    facts: WorkloadFacts, arguments: tuple[tuple[str, Scalar], ...] = ()
) -> Configuration:
    """Return one device with Keras's settings.

    Args:
        facts: Of the workload; a dataset smaller than Keras's batch is a batch by itself.
        arguments: Values of the user's own axes, which have no default.
    """
    usual = Configuration().per_replica_batch
    batch = min(usual, facts.examples or usual)
    return Configuration(per_replica_batch=batch, arguments=arguments)
