"""The user's own global batch, with which every other one is compared, and its source."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from autotune.config import Configuration
from autotune.workload.facts import WorkloadFacts


class BatchSource(StrEnum):
    """Who says what the user's own batch is."""

    OPTION = "option"
    """The option `global_batch`."""
    FIT = "fit"
    """The call of `fit` in a script."""
    DATASET = "dataset"
    """The batches that the dataset factory returns."""
    FACTORY = "factory"
    """The default of the dataset factory's parameter `batch_size`."""
    KERAS = "keras"
    """Nobody, so it is that of Keras."""


class OwnBatch(NamedTuple):
    """Examples per step in the user's training as it is."""

    size: int
    source: BatchSource


def own_batch(facts: WorkloadFacts, asked: int | None = None) -> OwnBatch:
    """Return the user's own global batch; a smaller dataset is a batch by itself."""
    if asked:
        return OwnBatch(asked, BatchSource.OPTION)
    usual = facts.usual_batch or Configuration().per_replica_batch
    return OwnBatch(min(usual, facts.examples or usual), _source(facts))


def own_settings(facts: WorkloadFacts, asked: int | None = None) -> Configuration:
    """Return one device with the batch, the eager execution and the XLA that the user has."""
    batch = own_batch(facts, asked).size
    own = {"per_replica_batch": batch, "run_eagerly": facts.eager, "xla": facts.jit_compile}
    return Configuration().taking(own)


def _source(facts: WorkloadFacts) -> BatchSource:
    if facts.usual_batch is None:
        return BatchSource.KERAS
    if facts.fit:
        return BatchSource.FIT
    batches = facts.returned.unbatched or facts.returned.by_python
    return BatchSource.DATASET if batches else BatchSource.FACTORY
