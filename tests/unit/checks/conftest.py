"""Rank observations of trainings that did not take place."""

from typing import Any

from autotune.engine.tasks import Copy, Numbers, RankObservation, Variable

EPSILON = 2.0**-23


def variable(name: str = "kernel", kind: str = "trainable", **fields: Any) -> Variable:
    usual = {"epsilon": EPSILON, "copies": 1, "mirrored": True, "apart": False}
    return Variable.model_validate({"name": name, "kind": kind, **usual, **fields})


def rank(
    *ends: Numbers,
    start: Numbers = (1.0, 2.0),
    starts: tuple[Numbers, ...] = (),
    losses: Numbers = (2.0, 1.0),
    silenced: tuple[str, ...] = (),
    **fields: Any,
) -> RankObservation:
    """Return a process with a replica for each end of its one variable."""
    begun = starts or (start,) * len(ends)
    return RankObservation(
        variables=(variable(**{"copies": len(ends), **fields}),),
        copies=tuple(Copy(start=(a,), end=(b,)) for a, b in zip(begun, ends, strict=True)),
        losses=losses,
        silenced=silenced,
    )
