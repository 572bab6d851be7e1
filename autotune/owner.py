"""Stages of tf.data, and who leaves a number of one to AUTOTUNE.

It needs no library: processes that train import it.
"""

from __future__ import annotations

from enum import StrEnum


class Owner(StrEnum):
    """Who has left a number to AUTOTUNE, and so who could write one instead."""

    PREFETCH = "prefetch"
    """The program, by the axis of this name."""
    NUM_PARALLEL_CALLS = "num_parallel_calls"
    """The program, which gives the dataset factory its parameter of this name."""
    FACTORY = "factory"
    """The dataset factory, by a `tf.data.AUTOTUNE` of its own."""
    TENSORFLOW = "tensorflow"
    """Nobody: TensorFlow added the stage, or made it parallel, by itself."""
    UNKNOWN = "unknown"
    """TensorFlow has rewritten the stages, or they lie within others, so that nobody can tell."""


_KINDS = {
    "Map": "map",
    "ParallelMap": "map",
    "Interleave": "interleave",
    "ParallelInterleave": "interleave",
    "Batch": "batch",
    "ParallelBatch": "batch",
    "Prefetch": "prefetch",
}


def kind_of(stage: str) -> str:
    """Return which of tf.data's methods makes a stage, or nothing for one that it has not.

    Args:
        stage: Its name in TensorFlow's model, with or without a version.
    """
    return _KINDS.get(stage.rstrip("0123456789").removesuffix("V"), "")
