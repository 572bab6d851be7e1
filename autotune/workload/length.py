"""How long the training of a workload is, by what its script or its user says."""

from __future__ import annotations

from autotune.length import Length, Source
from autotune.workload.facts import WorkloadFacts, own_batch


def length_of(
    facts: WorkloadFacts, *, epochs: int | None = None, train_for: float | None = None
) -> Length:
    """Return how long a training is by the user's own settings; an hour where nobody says it.

    Args:
        facts: Of its workload.
        epochs: The user's number of epochs, which counts before that of a script.
        train_for: The user's own time in seconds, which counts before all epochs.
    """
    if train_for is not None:
        return Length(source=Source.TRAIN_FOR, seconds=train_for)
    fit = facts.fit
    of_script = fit.epochs if fit and not fit.loop else None
    many = epochs or of_script
    if many is None or facts.examples is None:
        return Length()
    return Length(
        source=Source.EPOCHS if epochs else Source.SCRIPT,
        epochs=many,
        examples=many * facts.examples,
        seconds=None,
        between=many * facts.between_seconds,
        at_most=bool(fit and fit.may_stop),
    )


def own_rate(facts: WorkloadFacts) -> float | None:
    """Return the rough examples per second of a script's own `fit`; None where nobody timed it."""
    return own_batch(facts).size / facts.own_step_seconds if facts.own_step_seconds else None


def why_assumed(facts: WorkloadFacts) -> str:
    """Return why nothing is known of the length of a training, as a clause."""
    fit = facts.fit
    if fit is None:
        return "two functions do not tell how many epochs it has"
    if fit.loop:
        return f"line {fit.loop} calls fit again and again"
    if facts.examples is None:
        return "nobody knows how many examples an epoch has"
    return "the script does not tell how many epochs it has"
