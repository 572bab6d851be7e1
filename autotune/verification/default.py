"""What Keras does by itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from autotune.config import Configuration
from autotune.value import Scalar
from autotune.workload import WorkloadFacts

NONE: Mapping[str, Scalar] = MappingProxyType({})


def default_for(facts: WorkloadFacts, own: Mapping[str, Scalar] = NONE) -> Configuration:
    """Return one device with Keras's settings.

    Args:
        facts: Of the workload; a dataset smaller than Keras's batch is a batch by itself.
        own: Values of the user's own axes, which have no default.
    """
    usual = Configuration().per_replica_batch
    batch = min(usual, facts.examples or usual)
    return Configuration(per_replica_batch=batch, arguments=tuple(own.items()))
