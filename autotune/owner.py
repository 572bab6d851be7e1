"""Who leaves a number to AUTOTUNE. It needs no library: processes that train import it."""

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
